#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "core/result.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "engine/snapshot.h"

namespace spindrift {

struct EngineThreadOptions {
  int64_t max_queue = 256;  // requests accepted beyond those that may run at once
};

// Runs an engine on a thread of its own and lets any thread submit to it. While it lives nobody
// else may use the engine, except for its context() and check(). Sleeps when there is nothing to
// do. All methods may be called from any thread; drain(), stop() and destruction not from a
// listener, which runs on the engine's thread.
class EngineThread {
 public:
  EngineThread(Engine& engine, const EngineThreadOptions& options);
  ~EngineThread();  // as stop()
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // Accepts a request: its listener will hear on_finish exactly once. Otherwise the listener hears
  // nothing: kBusy when the queue is full, kStopping after drain() or stop(), and what
  // Engine::check() refuses.
  Result<RequestId> submit(Request request);
  // Ends a request before its next forward; one that has ended is ignored.
  void cancel(RequestId id);
  // Refuses new requests and returns when all accepted ones have ended.
  void drain();
  // Refuses new requests, cancels the accepted ones and returns when they have ended and the thread
  // is gone.
  void stop();
  // As of the last forward, with what was accepted since as waiting.
  EngineSnapshot snapshot() const;

 private:
  void loop();
  int64_t unfinished() const { return static_cast<int64_t>(arrived_.size()) + in_engine_; }

  Engine& engine_;
  const int64_t capacity_;  // requests accepted and not ended
  mutable std::mutex mutex_;
  std::condition_variable changed_;  // something for the thread to do
  std::condition_variable ended_;    // nothing unfinished is left
  std::vector<Request> arrived_;
  std::vector<RequestId> to_cancel_;
  int64_t in_engine_ = 0;
  RequestId next_id_;
  bool refusing_ = false;
  bool stopping_ = false;
  EngineSnapshot snapshot_;
  std::mutex joining_;
  std::thread thread_;
};

}  // namespace spindrift
