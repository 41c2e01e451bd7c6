#pragma once

#include <memory>
#include <string>
#include <thread>

#include "core/log.h"
#include "core/result.h"
#include "server/access.h"
#include "server/http_server.h"
#include "server/service.h"

namespace spindrift::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0 = any free one
  AccessOptions access;
  int max_connections = 256;
};

// The whole: sockets, endpoints, model. It answers /health from listen() on.
class Server {
 public:
  Server(const ServerOptions& options, const Log& log);
  ~Server();  // as stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Begins to accept; returns the port.
  Result<int> listen();
  // Ready with this model, which must outlive the server.
  void start(const Assembly& assembly, ServiceOptions options);
  // Refuses new work, answers all that was accepted, then closes.
  void drain();
  // Ends at once what is left. Safe beside drain(), from another thread.
  void stop();

 private:
  const ServerOptions options_;
  Access access_;
  Service service_;
  HttpServer http_;
  std::thread accepting_;
};

}  // namespace spindrift::server
