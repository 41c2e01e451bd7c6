#include "server/server.h"

#include <utility>

namespace spindrift::server {

Server::Server(const ServerOptions& options, const Log& log)
    : options_(options),
      access_(options.access),
      service_(log),
      http_({.max_connections = options.max_connections,
             .gate = [this](const HttpRequest& request) { return access_.check(request); },
             .finish =
                 [this](const HttpRequest& request, HttpReply& reply) {
                   access_.finish(request, reply);
                   service_.watch(request, reply);
                 }},
            service_.routes()) {}

Server::~Server() {
  stop();
  if (accepting_.joinable()) accepting_.join();
}

Result<int> Server::listen() {
  SPINDRIFT_TRY(const int port, http_.bind(options_.host, options_.port));
  accepting_ = std::thread([this] { http_.run(); });
  return port;
}

void Server::start(const Assembly& assembly, ServiceOptions options) {
  service_.start(assembly, std::move(options));
}

void Server::drain() {
  service_.drain();
  stop();
}

void Server::stop() {
  service_.stop();
  if (accepting_.joinable()) http_.stop();
}

}  // namespace spindrift::server
