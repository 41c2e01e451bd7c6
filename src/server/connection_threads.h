#pragma once

#include <httplib.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace spindrift::server {

// One thread a connection, made when needed, at most `max_threads` or as many as the system gives;
// further connections wait for one to end, and `crowded` tells idle ones to make room.
class ConnectionThreads final : public httplib::TaskQueue {
 public:
  ConnectionThreads(size_t max_threads, std::atomic<bool>& crowded)
      : max_threads_(max_threads), crowded_(crowded) {}
  void enqueue(std::function<void()> connection) override;
  // Returns when all connections have ended.
  void shutdown() override;

 private:
  void work();
  bool wait_with(const std::function<void()>& connection);  // false: no memory
  bool add_thread();
  bool can_grow() const;

  const size_t max_threads_;
  std::atomic<bool>& crowded_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  size_t idle_ = 0;
  bool over_ = false;
  bool refused_ = false;  // by the system, when a thread was last asked for
  std::vector<std::thread> threads_;
};

}  // namespace spindrift::server
