#include "server/connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <string_view>

namespace spindrift::server {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr int64_t kChunkMarks = 64 * 1024;  // room for the size lines of a chunked body
constexpr std::chrono::milliseconds kPollSlice{100};
constexpr std::chrono::milliseconds kGoodbye{1000};
constexpr int64_t kGoodbyeBytes = 4 * 1024 * 1024;

constexpr std::string_view kRange = "range:";

void address_text(const sockaddr_storage& address, std::string& ip, int& port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    port = ntohs(v4.sin_port);
  } else if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    port = ntohs(v6.sin6_port);
  }
  ip = text.data();
}

}  // namespace

Connection::Connection(int socket, const ConnectionLimits& limits)
    : socket_(socket), limits_(limits) {
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Connection::~Connection() { ::close(socket_); }

bool Connection::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{.fd = socket_, .events = events, .revents = 0};
    const int got = ::poll(&entry, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    if (got > 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (left <= 0) return false;
  }
}

bool Connection::wait_for_request(const std::atomic<bool>& leave,
                                  const std::atomic<bool>& crowded) {
  buffer_.erase(0, at_);
  at_ = 0;
  in_body_ = false;
  taken_ = 0;
  in_range_ = -1;
  const auto until = Clock::now() + limits_.idle_time;
  while (buffer_.empty()) {
    if (leave || Clock::now() >= until) return false;
    if (!wait(POLLIN, Clock::now() + kPollSlice)) {
      if (crowded) return false;  // somebody waits for this thread
      continue;
    }
    if (fill(Clock::now()) <= 0) return false;
  }
  deadline_ = Clock::now() + (crowded ? limits_.crowded_head_time : limits_.head_time);
  return true;
}

void Connection::begin_body(int64_t length) {
  in_body_ = true;
  taken_ = 0;
  expected_ = length;
  arrived_ = Clock::now();
  deadline_ = arrived_ + limits_.body_time;
}

bool Connection::body_consumed() const {
  return broken_ == Broken::kNo && in_body_ && taken_ == expected_;
}

ssize_t Connection::fill(Clock::time_point deadline) {
  if (!wait(POLLIN, deadline)) {
    broken_ = Broken::kTooSlow;
    return -1;
  }
  buffer_.resize(kReadBytes);
  at_ = 0;
  ssize_t got = -1;
  do got = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  buffer_.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got <= 0) broken_ = Broken::kClosed;
  return got;
}

ssize_t Connection::read(char* data, size_t size) {
  if (broken_ != Broken::kNo) return -1;
  const int64_t limit = in_body_ ? limits_.body_bytes + kChunkMarks : limits_.head_bytes;
  if (taken_ >= limit) {
    broken_ = in_body_ ? Broken::kBodyTooLarge : Broken::kHeadTooLarge;
    return -1;
  }
  if (at_ == buffer_.size()) {
    if (const ssize_t got = fill(deadline_); got <= 0) return got;
  }
  const size_t count = std::min(size, buffer_.size() - at_);
  std::copy_n(buffer_.data() + at_, count, data);
  at_ += count;
  taken_ += static_cast<int64_t>(count);
  if (!in_body_) pass_over_range(data, count);
  return static_cast<ssize_t>(count);
}

// Takes the colon out of a `Range` header, so that it is none. Nothing here has ranges, and the
// library would match its value by a regular expression that takes stack for every byte.
void Connection::pass_over_range(char* data, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (data[i] == '\n') {
      in_range_ = 0;
    } else if (in_range_ >= 0) {
      const char letter = data[i] == ':' ? ':' : static_cast<char>(data[i] | 0x20);
      in_range_ = letter == kRange[static_cast<size_t>(in_range_)] ? in_range_ + 1 : -1;
      if (in_range_ != std::ssize(kRange)) continue;
      data[i] = ' ';
      in_range_ = -1;
    }
  }
}

ssize_t Connection::write(const char* data, size_t size) {
  if (!in_body_ && (broken_ == Broken::kHeadTooLarge || broken_ == Broken::kTooSlow)) return -1;
  return send(data, size);
}

ssize_t Connection::send(const char* data, size_t size) {
  size_t sent = 0;
  while (sent < size) {
    const ssize_t got = ::send(socket_, data + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (got > 0) {
      sent += static_cast<size_t>(got);
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) &&
        wait(POLLOUT, Clock::now() + limits_.write_time))
      continue;
    broken_ = Broken::kClosed;
    return -1;
  }
  return static_cast<ssize_t>(size);
}

bool Connection::gone() const {
  if (broken_ != Broken::kNo) return true;
  char byte = 0;
  const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void Connection::close_gently() {
  ::shutdown(socket_, SHUT_WR);
  const auto until = Clock::now() + kGoodbye;
  std::array<char, kReadBytes> sink{};
  for (int64_t left = kGoodbyeBytes; left > 0 && Clock::now() < until && wait(POLLIN, until);) {
    const ssize_t got = ::recv(socket_, sink.data(), sink.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    left -= got;
  }
}

void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getpeername(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    address_text(address, ip, port);
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0)
    address_text(address, ip, port);
}

}  // namespace spindrift::server
