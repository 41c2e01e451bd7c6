#include "server/http_server.h"

#include <httplib.h>
#include <malloc.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "server/api_error.h"
#include "server/connection.h"
#include "server/connection_threads.h"

namespace spindrift::server {
namespace {

constexpr int kBacklog = 512;
constexpr size_t kRequestsPerConnection = 10'000;
constexpr int64_t kSmallBody = 64 * 1024;    // has room whatever others hold
constexpr int64_t kLargeBody = 1024 * 1024;  // worth giving memory back after

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

// How a head announces the body after it.
struct Frame {
  enum class Kind : uint8_t { kNone, kLength, kChunked, kWrong };
  Kind kind = Kind::kNone;
  int64_t length = 0;  // -1 = known only when the body has been read, or not at all
};

bool is_chunked(std::string_view coding) {
  constexpr std::string_view kChunked = "chunked";
  return std::equal(coding.begin(), coding.end(), kChunked.begin(), kChunked.end(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

// What a proxy in front could read in another way is wrong: more than one length, a length and a
// coding, a coding other than chunked.
Frame body_frame(const HttpRequest& request) {
  constexpr Frame kWrong = {.kind = Frame::Kind::kWrong, .length = -1};
  Frame out;
  for (const auto& [name, value] : request.headers) {
    if (name != "transfer-encoding" && name != "content-length") continue;
    if (out.kind != Frame::Kind::kNone) return kWrong;
    if (name == "transfer-encoding") {
      if (!is_chunked(value)) return kWrong;
      out = {.kind = Frame::Kind::kChunked, .length = -1};
    } else {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), out.length);
      if (error != std::errc{} || end != value.data() + value.size() || out.length < 0)
        return kWrong;
      out.kind = Frame::Kind::kLength;
    }
  }
  return out;
}

bool serves(const Route& route, std::string_view path) {
  if (path == route.path) return true;
  return route.prefix && path.starts_with(route.path) && path[route.path.size()] == '/';
}

bool has_method(const Route& route, std::string_view method) {
  return route.method == method || (method == "HEAD" && route.method == "GET");
}

// What one request holds of a number of bytes that all share.
class Share {
 public:
  explicit Share(std::atomic<int64_t>& left) : left_(left) {}
  ~Share() { left_ += held_; }
  Share(const Share&) = delete;
  Share& operator=(const Share&) = delete;
  // Holds `bytes` in all; false when there are not that many left.
  bool hold(int64_t bytes) {
    const int64_t more = bytes - held_;
    if (more <= 0) return true;
    int64_t left = left_;
    do {  // taken only where there is enough: what is tried in vain must not refuse another
      if (left < more) return false;
    } while (!left_.compare_exchange_weak(left, left - more));
    held_ += more;
    return true;
  }

 private:
  std::atomic<int64_t>& left_;
  int64_t held_ = 0;
};

// Gives the memory that reading a large body took back to the system: the C library would keep that
// of every thread that ever read one.
class GiveBack {
 public:
  explicit GiveBack(std::string& body) : body_(body) {}
  ~GiveBack() {
    if (std::ssize(body_) < kLargeBody) return;
    body_ = {};
    malloc_trim(0);
  }
  GiveBack(const GiveBack&) = delete;
  GiveBack& operator=(const GiveBack&) = delete;

 private:
  std::string& body_;
};

// Of a head that the library refused.
ApiError head_error(int status) {
  return {.status = status,
          .message = status == 414 ? "the path is too long"
                                   : "expected a request line and headers of HTTP/1.1, each of "
                                     "less than 8192 bytes"};
}

}  // namespace

class HttpServer::Listener final : public httplib::Server {
 public:
  Listener(HttpOptions options, std::vector<Route> routes)
      : options_(std::move(options)), routes_(std::move(routes)) {
    limits_.body_bytes = options_.max_body_bytes;
    bodies_left_ = options_.max_bodies_bytes;
    new_task_queue = [this] {
      return new ConnectionThreads(static_cast<size_t>(options_.max_connections), crowded_);
    };
    set_pre_routing_handler(
        [this](const httplib::Request& in, httplib::Response& out) { return admit(in, out); });
    // Sees the library's own refusals, which have no body, and all others.
    set_error_handler(HandlerWithResponse([](const httplib::Request&, httplib::Response& out) {
      if (out.has_header("Content-Type")) return HandlerResponse::Unhandled;
      out.set_content(error_json(head_error(out.status)), "application/json");
      return HandlerResponse::Handled;
    }));
    set_exception_handler(
        [this](const httplib::Request& in, httplib::Response& out, const std::exception_ptr&) {
          out.set_header("Connection", "close");
          send(head(in), error_reply({.status = 500, .message = "the request failed here"}), out);
        });
    for (const Route& route : routes_)
      if (route.method == "POST")
        Post(route.path,
             [this, &route](const httplib::Request& in, httplib::Response& out,
                            const httplib::ContentReader& read) { receive(route, in, out, read); });
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

  void run() {
    listen_after_bind();
    ended_ = true;
  }

  void leave() {
    leaving_ = true;
    // The library forgets a stop that comes before its loop has begun.
    while (!is_running() && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
    // What has a body is left to the library's routes, which read it. Those match by a regular
    // expression that takes stack for every byte of a path, so the others are found here.
    if (!refusal && request.method == "POST") return HandlerResponse::Unhandled;
    if (refusal) {
      send(request, std::move(*refusal), out);
    } else {
      const auto route = std::find_if(routes_.begin(), routes_.end(), [&](const Route& entry) {
        return serves(entry, request.path) && has_method(entry, request.method);
      });
      answer(*route, request, in, out);
    }
    return HandlerResponse::Handled;
  }

  // What can be said without the body.
  std::optional<HttpReply> refuse(const HttpRequest& request) const {
    const Frame frame = body_frame(request);
    if (frame.kind == Frame::Kind::kWrong)
      return error_reply({.status = 400,
                          .message = "expected one Content-Length or the one Transfer-Encoding "
                                     "`chunked`, and not both"});
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
    if (frame.kind == Frame::Kind::kNone)
      return error_reply({.status = 411, .message = "expected a Content-Length or a chunked body"});
    if (frame.length > options_.max_body_bytes) return too_large();
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
    const GiveBack after(request.body);
    Share share(bodies_left_);
    bool fits = true;
    bool room = true;
    const bool whole = read([&](const char* data, size_t size) {
      const auto bytes = static_cast<int64_t>(request.body.size() + size);
      fits = bytes <= options_.max_body_bytes;
      room = share.hold(bytes - kSmallBody);
      if (fits && room) request.body.append(data, size);
      return fits && room;
    });
    if (whole) return answer(route, request, in, out);
    out.set_header("Connection", "close");
    if (!fits) return send(request, too_large(), out);
    if (!room)
      return send(request,
                  error_reply({.status = 429,
                               .message = "too many large requests are being read at once",
                               .code = "too_many_large_requests"}),
                  out);
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
    try {
      for (size_t i = 0; i < kRequestsPerConnection; ++i) {
        if (!peer.wait_for_request(leaving_, crowded_)) return true;
        if (!serve_one(peer)) break;
      }
      peer.close_gently();
    } catch (const std::exception&) {
      // Out of memory outside of a handler: this connection ends, the others go on.
    }
    return true;
  }

  // The connection that a request came by, known by the request while that is being served.
  class Known {
   public:
    explicit Known(Listener& owner) : owner_(owner) {}
    ~Known() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.connections_.erase(key_);
    }
    Known(const Known&) = delete;
    Known& operator=(const Known&) = delete;
    void set(const httplib::Request& request, Connection& peer) {
      const std::lock_guard lock(owner_.mutex_);
      key_ = &request;
      owner_.connections_[key_] = &peer;
    }
    explicit operator bool() const { return key_ != nullptr; }

   private:
    Listener& owner_;
    const httplib::Request* key_ = nullptr;
  };

  // True when another request may follow.
  bool serve_one(Connection& peer) {
    Known known(*this);
    bool last = false;
    const bool ok = process_request(peer, false, last, [&](httplib::Request& request) {
      peer.begin_body(body_frame(request_head(request)).length);
      known.set(request, peer);
    });
    if (!known) say_why(peer);
    return ok && !last && known && peer.body_consumed();
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
  std::atomic<int64_t> bodies_left_ = 0;  // bytes that bodies may yet hold
  std::atomic<bool> leaving_{false};
  std::atomic<bool> ended_{false};  // run() has
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
void HttpServer::run() { listener_->run(); }
void HttpServer::stop() { listener_->leave(); }

}  // namespace spindrift::server
