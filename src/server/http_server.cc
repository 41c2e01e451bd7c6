#include "server/http_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "server/api_error.h"
#include "server/connection.h"
#include "server/connection_threads.h"

namespace spindrift::server {
namespace {

constexpr int kBacklog = 512;
constexpr size_t kRequestsPerConnection = 10'000;

HttpRequest request_head(const httplib::Request& in) {
  HttpRequest out{.method = in.method, .path = in.path, .headers = {}, .body = {}, .arrived = {}};
  for (const auto& [name, value] : in.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    out.headers.emplace_back(std::move(lower), value);
  }
  return out;
}

// The length a request announces: -1 = chunked, nullopt = no body or no valid length.
std::optional<int64_t> body_length(const HttpRequest& request) {
  if (!request.header("transfer-encoding").empty()) return -1;
  const std::string_view text = request.header("content-length");
  int64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc{} || end != text.data() + text.size() || length < 0) return std::nullopt;
  return length;
}

bool serves(const Route& route, std::string_view path) {
  if (path == route.path) return true;
  return route.prefix && path.starts_with(route.path) && path[route.path.size()] == '/';
}

bool has_method(const Route& route, std::string_view method) {
  return route.method == method || (method == "HEAD" && route.method == "GET");
}

std::string regex_of(const Route& route) {
  return route.prefix ? route.path + "(/[^]*)?" : route.path;
}

}  // namespace

class HttpServer::Listener final : public httplib::Server {
 public:
  Listener(HttpOptions options, std::vector<Route> routes)
      : options_(std::move(options)), routes_(std::move(routes)) {
    limits_.body_bytes = options_.max_body_bytes;
    new_task_queue = [this] {
      return new ConnectionThreads(static_cast<size_t>(options_.max_connections), crowded_);
    };
    set_pre_routing_handler(
        [this](const httplib::Request& in, httplib::Response& out) { return admit(in, out); });
    for (const Route& route : routes_) {
      if (route.method == "GET")
        Get(regex_of(route), [this, &route](const httplib::Request& in, httplib::Response& out) {
          answer(route, head(in), in, out);
        });
      else
        Post(regex_of(route),
             [this, &route](const httplib::Request& in, httplib::Response& out,
                            const httplib::ContentReader& read) { receive(route, in, out, read); });
    }
  }

  Result<int> bind(const std::string& host, int port) {
    // Unlike the library's own choice, not SO_REUSEPORT: a second server on the port is an error.
    set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    });
    errno = 0;
    const int got = port == 0 ? bind_to_any_port(host) : bind_to_port(host, port) ? port : -1;
    if (got < 0) {
      // A host that does not resolve leaves errno alone.
      const char* why =
          errno != 0 ? std::strerror(errno) : "expected a name or address of this machine";
      return Error{ErrorCode::kIo,
                   "cannot listen on " + host + ":" + std::to_string(port) + ": " + why};
    }
    ::listen(svr_sock_, kBacklog);
    return got;
  }

  void leave() {
    leaving_ = true;
    stop();
  }

 private:
  HttpRequest head(const httplib::Request& in) {
    HttpRequest out = request_head(in);
    out.arrived = connection(in).arrived();
    return out;
  }

  HandlerResponse admit(const httplib::Request& in, httplib::Response& out) {
    const HttpRequest request = head(in);
    std::optional<HttpReply> refusal;
    if (options_.gate) refusal = options_.gate(request);
    if (!refusal) refusal = refuse(request);
    if (!refusal) return HandlerResponse::Unhandled;
    send(request, std::move(*refusal), out);
    return HandlerResponse::Handled;
  }

  // What can be said without the body.
  std::optional<HttpReply> refuse(const HttpRequest& request) const {
    bool known = false;
    std::string allowed;
    for (const Route& route : routes_) {
      if (!serves(route, request.path)) continue;
      known = known || has_method(route, request.method);
      allowed += (allowed.empty() ? "" : ", ") + route.method;
    }
    if (allowed.empty())
      return error_reply({.status = 404, .message = "there is no such path", .code = "not_found"});
    if (!known) {
      HttpReply reply = error_reply(
          {.status = 405, .message = "this path takes " + allowed, .code = "method_not_allowed"});
      reply.headers.emplace_back("Allow", allowed);
      return reply;
    }
    if (request.method != "POST") return std::nullopt;
    const std::string_view encoding = request.header("content-encoding");
    if (!encoding.empty() && encoding != "identity")
      return error_reply({.status = 415, .message = "a compressed body is not supported"});
    if (request.header("content-type").starts_with("multipart/"))
      return error_reply({.status = 415, .message = "expected a JSON body, found multipart data"});
    const auto length = body_length(request);
    if (!length)
      return error_reply({.status = 411, .message = "expected a Content-Length or a chunked body"});
    if (*length > options_.max_body_bytes) return too_large();
    return std::nullopt;
  }

  HttpReply too_large() const {
    return error_reply({.status = 413,
                        .message = "expected a body of at most " +
                                   std::to_string(options_.max_body_bytes) + " bytes",
                        .code = "body_too_large"});
  }

  void receive(const Route& route, const httplib::Request& in, httplib::Response& out,
               const httplib::ContentReader& read) {
    HttpRequest request = head(in);
    bool fits = true;
    const bool whole = read([&](const char* data, size_t size) {
      fits = request.body.size() + size <= static_cast<size_t>(options_.max_body_bytes);
      if (fits) request.body.append(data, size);
      return fits;
    });
    if (whole) return answer(route, request, in, out);
    out.set_header("Connection", "close");
    if (!fits) return send(request, too_large(), out);
    const bool slow = connection(in).broken() == Connection::Broken::kTooSlow;
    send(request,
         error_reply(
             {.status = slow ? 408 : 400, .message = "the body did not arrive as announced"}),
         out);
  }

  void answer(const Route& route, const HttpRequest& request, const httplib::Request& in,
              httplib::Response& out) {
    HttpReply reply = route.handle(request, connection(in));
    send(request, std::move(reply), out);
  }

  void send(const HttpRequest& request, HttpReply reply, httplib::Response& out) {
    if (options_.finish) options_.finish(request, reply);
    out.status = reply.status;
    for (const auto& [name, value] : reply.headers) out.set_header(name, value);
    const auto kept = std::make_shared<HttpReply>(std::move(reply));
    if (kept->stream) {
      out.set_chunked_content_provider(
          kept->content_type,
          [kept](size_t, httplib::DataSink& sink) {
            std::string piece;
            const bool more = kept->stream->next(piece);
            if (!piece.empty() && !sink.write(piece.data(), piece.size())) return false;
            if (!more) sink.done();
            return true;
          },
          [kept](bool) { kept->stream.reset(), kept->hold.reset(); });
      return;
    }
    if (kept->body.empty()) return out.set_content("", kept->content_type);
    out.set_content_provider(
        kept->body.size(), kept->content_type,
        [kept](size_t offset, size_t length, httplib::DataSink& sink) {
          return sink.write(kept->body.data() + offset, length);
        },
        [kept](bool) { kept->hold.reset(); });
  }

  bool process_and_close_socket(socket_t socket) override {
    Connection peer(socket, limits_);
    for (size_t i = 0; i < kRequestsPerConnection; ++i) {
      if (!peer.wait_for_request(leaving_, crowded_)) return true;
      const httplib::Request* key = nullptr;
      bool last = false;
      const bool ok = process_request(peer, false, last, [&](httplib::Request& request) {
        key = &request;
        request.ranges.clear();
        peer.begin_body(body_length(request_head(request)).value_or(0));
        const std::lock_guard lock(mutex_);
        connections_[key] = &peer;
      });
      if (key != nullptr) {
        const std::lock_guard lock(mutex_);
        connections_.erase(key);
      }
      if (key == nullptr) say_why(peer);
      if (!ok || last || key == nullptr || !peer.body_consumed()) break;
    }
    peer.close_gently();
    return true;
  }

  // A head that could not be read has no reply from the library.
  void say_why(Connection& peer) {
    HttpReply reply;
    if (peer.broken() == Connection::Broken::kHeadTooLarge)
      reply = error_reply({.status = 431, .message = "the headers are too large"});
    else if (peer.broken() == Connection::Broken::kTooSlow)
      reply = error_reply({.status = 408, .message = "the request did not arrive in time"});
    else
      return;
    peer.say("HTTP/1.1 " + std::to_string(reply.status) +
             (reply.status == 431 ? " Request Header Fields Too Large" : " Request Timeout") +
             "\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: " +
             std::to_string(reply.body.size()) + "\r\n\r\n" + reply.body);
  }

  Connection& connection(const httplib::Request& in) {
    const std::lock_guard lock(mutex_);
    return *connections_.at(&in);
  }

  HttpOptions options_;
  std::vector<Route> routes_;
  ConnectionLimits limits_;
  std::atomic<bool> leaving_{false};
  std::atomic<bool> crowded_{false};
  std::mutex mutex_;
  std::unordered_map<const httplib::Request*, Connection*> connections_;
};

HttpServer::HttpServer(HttpOptions options, std::vector<Route> routes)
    : listener_(std::make_unique<Listener>(std::move(options), std::move(routes))) {}
HttpServer::~HttpServer() = default;
Result<int> HttpServer::bind(const std::string& host, int port) {
  return listener_->bind(host, port);
}
void HttpServer::run() { listener_->listen_after_bind(); }
void HttpServer::stop() { listener_->leave(); }

}  // namespace spindrift::server
