#include "server/connection_threads.h"

#include <pthread.h>

#include <exception>
#include <utility>

namespace spindrift::server {

void ConnectionThreads::enqueue(std::function<void()> connection) {
  {
    const std::lock_guard lock(mutex_);
    if ((waiting_.size() < idle_ || add_thread() || !threads_.empty()) && wait_with(connection)) {
      crowded_ = waiting_.size() > idle_ && !can_grow();
      connection = nullptr;
    }
  }
  if (connection) return connection();  // no thread or memory was to be had: on this one
  changed_.notify_one();
}

bool ConnectionThreads::wait_with(const std::function<void()>& connection) {
  try {
    waiting_.push_back(connection);
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

bool ConnectionThreads::can_grow() const { return threads_.size() < max_threads_ && !refused_; }

// False when there are as many as may be, or the system refuses one more.
bool ConnectionThreads::add_thread() {
  if (threads_.size() == max_threads_) return false;
  try {
    threads_.emplace_back([this] { work(); });
    refused_ = false;
  } catch (const std::exception&) {
    refused_ = true;
  }
  return !refused_;
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
      crowded_ = waiting_.size() > idle_ && !can_grow();
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
