#pragma once

#include <cstdint>
#include <memory>

#include "core/exec.h"

namespace spindrift {

// A fixed set of threads for short, equal pieces of work (one matrix product). The caller is worker
// 0 and takes part. Workers spin briefly between jobs and then sleep, so an idle process costs
// nothing. One job at a time, from one thread at a time.
class ThreadPool {
 public:
  // Makes `threads` workers, the caller included (threads >= 1).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // Calls job(worker) once for each worker in [0, threads) and returns when all have finished. A
  // job must not throw.
  void run(void (*job)(void* context, int worker), void* context);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Threads that `ex` will use.
int thread_count(const Exec& ex);

// Calls fn(first, last) for disjoint ranges that cover [0, cells) once, one range a thread. The
// split is static and cannot reach the bits: a cell is computed by one thread, whole.
template <class Fn>
void for_cells(const Exec& ex, int64_t cells, const Fn& fn) {
  const int threads = thread_count(ex);
  if (cells <= 0) return;
  if (threads == 1 || cells == 1) {
    fn(int64_t{0}, cells);
    return;
  }
  struct Job {
    const Fn* fn;
    int64_t cells;
    int threads;
  } job{&fn, cells, threads};
  ex.pool->run(
      [](void* context, int worker) {
        const Job& j = *static_cast<Job*>(context);
        const int64_t first = j.cells * worker / j.threads;
        const int64_t last = j.cells * (worker + 1) / j.threads;
        if (first < last) (*j.fn)(first, last);
      },
      &job);
}

}  // namespace spindrift
