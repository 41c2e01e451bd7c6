#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spindrift::server {

// A request as handlers see it. Header names are in lower case; of a repeated header the first
// counts.
struct HttpRequest {
  std::string method;
  std::string path;  // decoded, without the query
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::chrono::steady_clock::time_point arrived = {};  // when its head had been read

  // Empty when absent.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers)
      if (key == name) return value;
    return {};
  }
};

// The other side of the connection that a request came by.
class Peer {
 public:
  virtual ~Peer() = default;
  // True once it has closed the connection. Any thread.
  virtual bool gone() const = 0;
};

// A body that is made while it is sent. Destroyed when it is sent or the peer is gone.
class BodyStream {
 public:
  virtual ~BodyStream() = default;
  // Waits a moment for what comes next and appends it to `out`, which may stay empty. False at the
  // end.
  virtual bool next(std::string& out) = 0;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::unique_ptr<BodyStream> stream = {};  // instead of `body`
  std::shared_ptr<void> hold = {};          // released when the reply has been sent, or cannot be
};

struct Route {
  std::string method;  // "GET" (serves HEAD too) or "POST"
  std::string path;
  bool prefix = false;  // the path and everything below it
  std::function<HttpReply(const HttpRequest&, const Peer&)> handle;
};

}  // namespace spindrift::server
