#include "engine/engine_thread.h"

#include <string>
#include <utility>

#include "core/check.h"

namespace spindrift {

EngineThread::EngineThread(Engine& engine, const EngineThreadOptions& options)
    : engine_(engine),
      capacity_(options.max_queue + engine.options().max_running),
      next_id_(engine.next_id()),
      snapshot_(engine.snapshot()) {
  SPINDRIFT_CHECK(options.max_queue >= 0 && engine.pending() == 0,
                  "an idle engine and a queue of some size");
  thread_ = std::thread([this] { loop(); });
}

EngineThread::~EngineThread() { stop(); }

Result<RequestId> EngineThread::submit(Request request) {
  SPINDRIFT_TRY_STATUS(engine_.check(request));
  const std::lock_guard lock(mutex_);
  if (refusing_) return Error{ErrorCode::kStopping, "request: the engine is being shut down"};
  if (unfinished() >= capacity_)
    return Error{ErrorCode::kBusy,
                 "request: expected fewer than " + std::to_string(capacity_) +
                     " requests at once, found " + std::to_string(unfinished()),
                 "try again later"};
  arrived_.push_back(std::move(request));
  changed_.notify_one();
  return next_id_++;
}

void EngineThread::cancel(RequestId id) {
  const std::lock_guard lock(mutex_);
  if (unfinished() == 0) return;
  to_cancel_.push_back(id);
}

void EngineThread::drain() {
  std::unique_lock lock(mutex_);
  refusing_ = true;
  ended_.wait(lock, [this] { return unfinished() == 0; });
}

void EngineThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    refusing_ = stopping_ = true;
    changed_.notify_one();
  }
  const std::lock_guard lock(joining_);
  if (thread_.joinable()) thread_.join();
}

EngineSnapshot EngineThread::snapshot() const {
  const std::lock_guard lock(mutex_);
  EngineSnapshot out = snapshot_;
  out.waiting = unfinished() - out.running;
  return out;
}

void EngineThread::loop() {
  std::vector<Request> arrived;
  std::vector<RequestId> to_cancel;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || unfinished() > 0; });
    std::swap(arrived, arrived_);
    std::swap(to_cancel, to_cancel_);
    in_engine_ += static_cast<int64_t>(arrived.size());
    const RequestId next = next_id_;
    const bool stopping = stopping_;
    lock.unlock();

    for (Request& request : arrived) engine_.add(std::move(request));
    SPINDRIFT_CHECK(engine_.next_id() == next, "ids are those that were handed out");
    for (const RequestId id : to_cancel) engine_.cancel(id);
    if (stopping) engine_.cancel_all();
    arrived.clear();
    to_cancel.clear();
    engine_.step();
    const EngineSnapshot now = engine_.snapshot();

    lock.lock();
    snapshot_ = now;
    in_engine_ = now.waiting + now.running;
    if (unfinished() > 0) continue;
    ended_.notify_all();
    if (stopping_) return;
  }
}

}  // namespace spindrift
