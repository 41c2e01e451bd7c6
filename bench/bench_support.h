#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/registry.h"

namespace spindrift::bench {

// The limits of one core, measured once a process: best of several short runs.
struct Roofline {
  double read_gb_s = 0.0;
  double gflop_s = 0.0;
};
const Roofline& roofline();

// The instruction set under test: the default one, so SPINDRIFT_ISA chooses it.
const kernels::Table& table();

// Memory for weights: `bytes` of noise in one mapping.
std::vector<std::byte> noise_bytes(int64_t bytes);
std::vector<float> noise_floats(int64_t count);

// Reports bytes read and operations done in one iteration: GB/s, GFLOP/s, their shares of the
// roofline, and `floor`: measured time over the larger of the two floors' times.
void report(benchmark::State& state, double bytes, double flop);

}  // namespace spindrift::bench
