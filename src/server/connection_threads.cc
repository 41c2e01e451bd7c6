#include "server/connection_threads.h"

#include <pthread.h>

#include <utility>

namespace spindrift::server {

void ConnectionThreads::enqueue(std::function<void()> connection) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(connection));
    if (waiting_.size() > idle_ && threads_.size() < max_threads_)
      threads_.emplace_back([this] { work(); });
    crowded_ = waiting_.size() > idle_ && threads_.size() == max_threads_;
  }
  changed_.notify_one();
}

void ConnectionThreads::work() {
  pthread_setname_np(pthread_self(), "http");  // tells its time from the engine's
  for (;;) {
    std::function<void()> connection;
    {
      std::unique_lock lock(mutex_);
      ++idle_;
      changed_.wait(lock, [this] { return over_ || !waiting_.empty(); });
      --idle_;
      if (waiting_.empty()) return;
      connection = std::move(waiting_.front());
      waiting_.pop_front();
      crowded_ = waiting_.size() > idle_ && threads_.size() == max_threads_;
    }
    connection();
  }
}

void ConnectionThreads::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

}  // namespace spindrift::server
