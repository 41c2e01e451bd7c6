#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "server/http.h"

namespace spindrift::server {

struct HttpOptions {
  int64_t max_body_bytes = 32 * 1024 * 1024;
  // Of all bodies at once, small ones apart: reading a request takes a multiple of its body.
  int64_t max_bodies_bytes = 64 * 1024 * 1024;
  int max_connections = 256;  // at once; further ones wait
  // Sees every request before its body is read; a reply ends it there.
  std::function<std::optional<HttpReply>(const HttpRequest&)> gate;
  // Sees every reply before it is sent: headers that all have.
  std::function<void(const HttpRequest&, HttpReply&)> finish;
};

// HTTP/1.1 over one listening socket, a thread a connection. Answers what has no route with 404,
// 405, and what breaks a limit with 408, 411, 413, 415,
// 429 or 431.
class HttpServer {
 public:
  HttpServer(HttpOptions options, std::vector<Route> routes);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens; port 0 = any free one. Returns the port. kIo when the address cannot be had.
  Result<int> bind(const std::string& host, int port);
  // Accepts and answers until stop(). Returns when every connection has ended.
  void run();
  // No more connections; those that wait for a request are closed. Streams that are being sent are
  // cut. From any thread, once one is on its way into run().
  void stop();

 private:
  class Listener;
  std::unique_ptr<Listener> listener_;
};

}  // namespace spindrift::server
