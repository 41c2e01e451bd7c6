#pragma once

#include <httplib.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "server/http.h"

namespace spindrift::server {

struct ConnectionLimits {
  int64_t head_bytes = 64 * 1024;                      // request line and headers
  int64_t body_bytes = 32 * 1024 * 1024;               // as sent, chunk marks apart
  std::chrono::milliseconds head_time{10'000};         // from the first byte to the blank line
  std::chrono::milliseconds crowded_head_time{2'000};  // when others wait for a thread
  std::chrono::milliseconds body_time{60'000};         // from there to the last byte
  std::chrono::milliseconds idle_time{20'000};         // between requests of one connection
  std::chrono::milliseconds write_time{30'000};        // without the peer taking a byte
};

// A connected socket as the stream that httplib reads requests from and writes replies to, with
// limits on both: whoever sends slowly, endlessly or not at all, or does not read, loses the
// connection and holds one thread until then, nothing else. Owns the socket.
class Connection final : public httplib::Stream, public Peer {
 public:
  Connection(int socket, const ConnectionLimits& limits);
  ~Connection() override;

  // Why reading stopped.
  enum class Broken : uint8_t { kNo, kClosed, kHeadTooLarge, kBodyTooLarge, kTooSlow };

  // Waits for the first byte of a request. False when the peer has closed, stayed silent for
  // idle_time, or `leave` became true; while others are waiting (`crowded`) it has less time.
  bool wait_for_request(const std::atomic<bool>& leave, const std::atomic<bool>& crowded);
  // The head has been read; a body of `length` bytes follows, -1 = chunked.
  void begin_body(int64_t length);
  // When the current head had been read.
  std::chrono::steady_clock::time_point arrived() const { return arrived_; }
  // The request has been read to its last byte, so another may follow.
  bool body_consumed() const;
  Broken broken() const { return broken_; }
  // A last word where the library's own would be wrong: after a head that was too large or too slow
  // nothing else is sent.
  void say(const std::string& reply) { send(reply.data(), reply.size()); }
  // Ends the sending side and reads on for a moment, so that a peer that is still sending gets the
  // reply and not a reset.
  void close_gently();

  bool gone() const override;

  bool is_readable() const override { return true; }
  bool is_writable() const override { return !gone(); }
  ssize_t read(char* data, size_t size) override;
  ssize_t write(const char* data, size_t size) override;
  using httplib::Stream::write;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool wait(short events, Clock::time_point deadline) const;
  ssize_t send(const char* data, size_t size);
  ssize_t fill(Clock::time_point deadline);
  void pass_over_range(char* data, size_t count);

  const int socket_;
  const ConnectionLimits limits_;
  std::string buffer_;
  size_t at_ = 0;  // read position in buffer_
  // Of the head's current line: its first bytes that are those of kRange; -1 = it is another line.
  int in_range_ = -1;
  bool in_body_ = false;
  int64_t taken_ = 0;     // bytes of the current head, or of the body
  int64_t expected_ = 0;  // of the body; -1 = chunked
  Clock::time_point deadline_, arrived_;
  Broken broken_ = Broken::kNo;
};

}  // namespace spindrift::server
