#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"

namespace spindrift {

// What this process runs on.
struct Machine {
  std::string cpu;                       // model name
  std::vector<std::string> usable_isas;  // slowest first
  std::string isa;                       // the one that will be used
  int threads = 1;                       // what --threads defaults to
  int64_t memory_bytes = 0;              // physical memory
};

// kUsage when SPINDRIFT_ISA names an instruction set that cannot be had.
Result<Machine> describe_machine();

}  // namespace spindrift
