#pragma once

#include <string_view>
#include <vector>

#include "core/result.h"
#include "kernels/contract.h"

namespace spindrift::kernels {

// Instruction sets this machine can run, slowest first; kScalar is always there.
std::vector<Isa> usable_isas();

// The kernels for one instruction set; it must be usable here.
const Table& table(Isa isa);

// "scalar", "sse4", "avx2", "avx512", "native" -> Isa. kUsage when the name is unknown or the
// machine lacks it.
Result<Isa> parse_isa(std::string_view name);

// The best usable set, or the one that environment variable SPINDRIFT_ISA names (kUsage when it
// cannot be had).
Result<Isa> default_isa();

}  // namespace spindrift::kernels
