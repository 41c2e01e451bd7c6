#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace spindrift {

// What a config says in a few words, in order: ("layers", "6"), ...
using ConfigSummary = std::vector<std::pair<std::string, std::string>>;

// The tensors of one kind of module in one stored format.
struct ModuleGroup {
  std::string module;  // "attention", "routed experts", ...
  std::string format;  // "bf16", "nvfp4", ...
  int64_t tensors = 0;
  int64_t bytes = 0;
  // That decoding one token reads (of a drafter: one draft), keys and values not counted.
  int64_t bytes_per_token = 0;
};

}  // namespace spindrift
