#pragma once

#include <cstdint>
#include <span>

#include "core/exec.h"
#include "core/thread_pool.h"

namespace spindrift::nn {

// Below this much work (in elements touched) one thread is faster than waking the others.
inline constexpr int64_t kWorthSharing = 16 * 1024;

// Shares to cut work into that is worth sharing: some a thread, so that one that comes late (a busy
// machine) leaves its part to the others.
inline int64_t share_count(const Exec& ex) {
  const int threads = thread_count(ex);
  return threads == 1 ? 1 : int64_t{4} * threads;
}

// fn(first, last) over disjoint ranges that cover [0, rows) once; on the calling thread alone when
// rows * elements_per_row is small.
template <class Fn>
void for_rows(const Exec& ex, int64_t rows, int64_t elements_per_row, const Fn& fn) {
  if (rows > 0 && rows * elements_per_row < kWorthSharing) {
    fn(int64_t{0}, rows);
  } else {
    for_cells(ex, rows, fn);
  }
}

}  // namespace spindrift::nn
