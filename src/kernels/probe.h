#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/contract.h"

namespace spindrift::kernels {

// What a core can do at most, as work to be timed from outside: the two numbers that kernels are
// measured against. Both run on the calling thread.
struct Probes {
  // Multiply-adds in registers, `steps` times a fixed number. Returns the floating-point operations
  // done: two for one lane of a multiply-add.
  int64_t (*multiply_adds)(int64_t steps) = nullptr;
  // Reads `bytes` once, in order (up to a short tail). The result depends on what was read.
  uint32_t (*read)(std::span<const std::byte> bytes) = nullptr;
};

// isa: a usable vector set (not kScalar).
Probes probes(Isa isa);

}  // namespace spindrift::kernels
