#include "server/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

namespace spindrift::server {
namespace {

using namespace std::chrono_literals;

// Counts down as a stream; remembers being let go.
class Countdown final : public BodyStream {
 public:
  Countdown(int from, std::atomic<int>& alive) : left_(from), alive_(alive) { ++alive_; }
  ~Countdown() override { --alive_; }
  bool next(std::string& out) override {
    if (left_ > 1000) std::this_thread::sleep_for(1ms);
    out = std::to_string(left_) + "\n";
    return --left_ > 0;
  }

 private:
  int left_;
  std::atomic<int>& alive_;
};

int connect_to(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return socket;
}

void send(int socket, const std::string& text) {
  EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), std::ssize(text));
}

std::string receive(int socket) {
  std::string out;
  char block[4096];
  for (ssize_t got = 0; (got = ::recv(socket, block, sizeof block, 0)) > 0;)
    out.append(block, static_cast<size_t>(got));
  ::close(socket);
  return out;
}

class Broken final : public BodyStream {
 public:
  bool next(std::string& out) override {
    if (begun_) throw std::bad_alloc();
    begun_ = true;
    out = "begin";
    return true;
  }

 private:
  bool begun_ = false;
};

class Http : public ::testing::Test {
 protected:
  Http() : server_(options(), routes()), port_(server_.bind("127.0.0.1", 0).value()) {
    accepting_ = std::thread([this] { server_.run(); });
  }
  ~Http() override {
    server_.stop();
    accepting_.join();
  }

  static HttpOptions options() {
    HttpOptions out;
    out.max_body_bytes = 1000;
    out.max_connections = 4;
    out.gate = [](const HttpRequest& request) -> std::optional<HttpReply> {
      if (request.header("x-bad").empty()) return std::nullopt;
      return HttpReply{.status = 401, .body = "no"};
    };
    out.finish = [](const HttpRequest&, HttpReply& reply) {
      reply.headers.emplace_back("X-All", "1");
    };
    return out;
  }
  std::vector<Route> routes() {
    return {
        {"POST", "/echo", false,
         [](const HttpRequest& request, const Peer&) { return HttpReply{.body = request.body}; }},
        {"GET", "/count", false,
         [this](const HttpRequest&, const Peer&) {
           HttpReply reply;
           reply.stream = std::make_unique<Countdown>(3, alive_);
           return reply;
         }},
        {"GET", "/throw", false,
         [](const HttpRequest&, const Peer&) -> HttpReply { throw std::runtime_error("secret"); }},
        {"GET", "/broken", false,
         [](const HttpRequest&, const Peer&) {
           HttpReply reply;
           reply.stream = std::make_unique<Broken>();
           return reply;
         }},
        {"GET", "/endless", false, [this](const HttpRequest&, const Peer&) {
           HttpReply reply;
           reply.stream = std::make_unique<Countdown>(1 << 30, alive_);
           return reply;
         }}};
  }

  int connect() const { return connect_to(port_); }
  std::string ask(const std::string& text) const {
    const int socket = connect();
    send(socket, text);
    return receive(socket);
  }
  static std::string post(const std::string& body, const std::string& headers = {}) {
    return "POST /echo HTTP/1.1\r\nConnection: close\r\n" + headers +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  std::atomic<int> alive_ = 0;
  HttpServer server_;
  int port_;
  std::thread accepting_;
};

TEST_F(Http, AnswersWithABodyAndTheHeadersOfAll) {
  const std::string reply = ask(post("hello"));
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 200")) << reply;
  EXPECT_NE(reply.find("X-All: 1"), std::string::npos);
  EXPECT_TRUE(reply.ends_with("\r\n\r\nhello"));
}

TEST_F(Http, AStreamArrivesInChunksAndIsLetGo) {
  const std::string reply = ask("GET /count HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(reply.ends_with("2\r\n3\n\r\n2\r\n2\n\r\n2\r\n1\n\r\n0\r\n\r\n")) << reply;
  while (alive_ > 0) std::this_thread::yield();
}

TEST_F(Http, AClientThatLeavesEndsItsStream) {
  const int socket = connect();
  send(socket, "GET /endless HTTP/1.1\r\n\r\n");
  char byte = 0;
  EXPECT_EQ(::recv(socket, &byte, 1, 0), 1);
  EXPECT_EQ(alive_, 1);
  ::close(socket);
  while (alive_ > 0) std::this_thread::yield();
}

TEST_F(Http, TheGateSpeaksBeforeTheBodyIsRead) {
  const int socket = connect();
  send(socket, "POST /echo HTTP/1.1\r\nX-Bad: 1\r\nContent-Length: 900\r\n\r\n");
  EXPECT_TRUE(receive(socket).starts_with("HTTP/1.1 401"));
}

TEST_F(Http, BodiesBeyondTheLimitAreRefusedHoweverTheyCome) {
  EXPECT_TRUE(ask(post(std::string(1001, 'x'))).starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(ask(post(std::string(1000, 'x'))).starts_with("HTTP/1.1 200"));
  EXPECT_TRUE(ask("POST /echo HTTP/1.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "3E9\r\n" +
                  std::string(1001, 'x') + "\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 413"));
}

TEST_F(Http, ABodyAnnouncedInTwoWaysOrInOneThatIsNoneIsRefused) {
  for (const char* headers :
       {"Content-Length: 1\r\nContent-Length: 1\r\n", "Content-Length: 1\r\nContent-Length: 2\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 1, 1\r\n",
        "Content-Length: +1\r\n", "Content-Length: -1\r\n", "Content-Length: 0x1\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n"})
    for (const char* line : {"POST /echo", "GET /count"}) {
      const std::string reply = ask(std::string(line) + " HTTP/1.1\r\n" + headers + "\r\nx");
      EXPECT_TRUE(reply.starts_with("HTTP/1.1 400")) << line << ' ' << headers;
    }
  EXPECT_TRUE(ask("POST /echo HTTP/1.1\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 411"));
}

TEST_F(Http, WhatTheLibraryRefusesHasAnErrorObjectToo) {
  for (const std::string& request :
       {std::string("nonsense\r\n\r\n"),
        "GET /count HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n",
        "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\nConnection: close\r\n\r\n"}) {
    const std::string reply = ask(request);
    EXPECT_TRUE(reply.starts_with("HTTP/1.1 4")) << reply;
    EXPECT_NE(reply.find("\r\n\r\n{\"error\":{"), std::string::npos) << reply;
  }
}

TEST_F(Http, RangesArePassedOverHoweverTheyAreCut) {
  const std::string head = "GET /count HTTP/1.1\r\nRANGE: bytes=0-,x\r\nrange:bytes=9-1\r\n";
  for (size_t cut = 18; cut < head.size(); cut += 7) {
    const int socket = connect();
    send(socket, head.substr(0, cut));
    std::this_thread::yield();
    send(socket, head.substr(cut) + "Connection: close\r\n\r\n");
    EXPECT_TRUE(receive(socket).starts_with("HTTP/1.1 200"));
  }
}

TEST_F(Http, ThrowingHandlersAndStreamsEndTheirConnectionAlone) {
  const std::string reply = ask("GET /throw HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(reply.starts_with("HTTP/1.1 500")) << reply;
  EXPECT_NE(reply.find("{\"error\":{"), std::string::npos) << reply;
  EXPECT_EQ(reply.find("secret"), std::string::npos) << reply;
  EXPECT_FALSE(ask("GET /broken HTTP/1.1\r\n\r\n").ends_with("0\r\n\r\n"));
  EXPECT_TRUE(ask(post("y")).ends_with("y"));
}

TEST(HttpStop, ComesThroughHoweverSoonAfterTheStart) {
  for (int i = 0; i < 20; ++i) {
    HttpServer server({}, {});
    ASSERT_TRUE(server.bind("127.0.0.1", 0).ok());
    std::thread accepting([&] { server.run(); });
    server.stop();
    server.stop();
    accepting.join();
  }
}

TEST(HttpBodies, LargeOnesShareABudgetAndSmallOnesAlwaysFit) {
  constexpr size_t kLarge = 150 * 1024;
  std::promise<void> entered;
  std::promise<void> leave;
  bool wait = true;  // of the first large request alone
  HttpServer server(
      {.max_body_bytes = 1024 * 1024, .max_bodies_bytes = 100 * 1024, .gate = {}, .finish = {}},
      {{"POST", "/echo", false, [&](const HttpRequest& request, const Peer&) {
          if (request.body.size() == kLarge && std::exchange(wait, false)) {
            entered.set_value();
            leave.get_future().wait();
          }
          return HttpReply{.body = std::to_string(request.body.size())};
        }}});
  const int port = server.bind("127.0.0.1", 0).value();
  std::thread accepting([&] { server.run(); });
  const auto begin = [&](size_t size) {
    const int socket = connect_to(port);
    send(socket, "POST /echo HTTP/1.1\r\nConnection: close\r\nContent-Length: " +
                     std::to_string(size) + "\r\n\r\n" + std::string(size, 'x'));
    return socket;
  };
  const int first = begin(kLarge);
  entered.get_future().wait();
  const std::string second = receive(begin(kLarge));
  EXPECT_TRUE(second.starts_with("HTTP/1.1 429")) << second;
  EXPECT_NE(second.find("Retry-After: "), std::string::npos);
  EXPECT_TRUE(receive(begin(1)).starts_with("HTTP/1.1 200"));
  leave.set_value();
  EXPECT_TRUE(receive(first).ends_with("\r\n\r\n" + std::to_string(kLarge)));
  EXPECT_TRUE(receive(begin(kLarge)).starts_with("HTTP/1.1 200"));
  server.stop();
  accepting.join();
}

TEST_F(Http, MoreClientsThanThreadsAreAllServed) {
  std::vector<int> idle;
  for (int i = 0; i < 4; ++i) {  // hold every thread, between requests
    idle.push_back(connect());
    send(idle.back(), "POST /echo HTTP/1.1\r\nContent-Length: 1\r\n\r\nx");
    char block[512];
    EXPECT_GT(::recv(idle.back(), block, sizeof block, 0), 0);
  }
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(ask(post("y")).ends_with("y"));
  for (const int socket : idle) ::close(socket);
}

}  // namespace
}  // namespace spindrift::server
