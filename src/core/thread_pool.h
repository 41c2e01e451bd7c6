#pragma once

#include <cstdint>
#include <memory>

#include "core/exec.h"

namespace spindrift {

// A fixed set of threads for short, equal pieces of work (one matrix product). The caller is worker
// 0 and takes part; it never waits for a worker that has not come, only for those in the middle of
// a piece, so a busy machine costs parallelism and no stalls. Workers spin briefly between jobs and
// then sleep, so an idle process costs nothing. One job at a time, from one thread at a time.
class ThreadPool {
 public:
  // Makes `threads` workers, the caller included (threads >= 1).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;
  // Calls work(context, first, last) for disjoint ranges that cover [0, cells) once and returns
  // when all have finished. Each worker begins with its own part of the cells, the same from job to
  // job (its caches are warm there), and then helps with what others have not begun. `work` must
  // not throw.
  using Work = void (*)(void* context, int64_t first, int64_t last);
  void run(int64_t cells, Work work, void* context);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Threads that `ex` will use.
int thread_count(const Exec& ex);

// Calls fn(first, last) for disjoint ranges that cover [0, cells) once. Who computes a cell cannot
// reach the bits: it is computed by one thread, whole.
template <class Fn>
void for_cells(const Exec& ex, int64_t cells, const Fn& fn) {
  if (cells <= 0) return;
  if (cells == 1 || thread_count(ex) == 1) {
    fn(int64_t{0}, cells);
    return;
  }
  ex.pool->run(
      cells,
      [](void* context, int64_t first, int64_t last) {
        (*static_cast<const Fn*>(context))(first, last);
      },
      const_cast<Fn*>(&fn));
}

}  // namespace spindrift
