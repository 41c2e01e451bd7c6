#pragma once

#include "core/exec.h"
#include "core/result.h"

namespace spindrift::bench {

// What this machine can do at most, with all threads of an Exec.
struct Roofline {
  double read_gb_s = 0;    // 1e9 bytes a second
  double fma_gflop_s = 0;  // 1e9 operations a second, two a multiply-add

  // The shortest times in which so much can be done, in milliseconds.
  double read_ms(double bytes) const { return bytes / (read_gb_s * 1e6); }
  double compute_ms(double flop) const { return flop / (fma_gflop_s * 1e6); }
};

// Memory of 1 GiB in the page cache, mapped as weights are (read-only, shared, small pages), read
// once by all threads: the best of `passes`. kLimit when there is no room for it.
Result<double> measure_read_gb_s(const Exec& ex, int passes = 8);

// float32 multiply-adds from registers on all threads: the best of five passes of a few
// milliseconds. The scalar kernels have no probe of their own: the least vector set stands in.
double measure_fma_gflop_s(const Exec& ex);

Result<Roofline> measure_roofline(const Exec& ex);

}  // namespace spindrift::bench
