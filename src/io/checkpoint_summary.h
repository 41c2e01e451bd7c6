#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
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

// Groups while their tensors are counted, by module (an index into its names) and format.
using ModuleGroupMap = std::map<std::pair<size_t, std::string>, ModuleGroup>;

// The groups in order of module, then format, with both filled in.
std::vector<ModuleGroup> list_groups(ModuleGroupMap groups,
                                     std::span<const std::string_view> module_names);

}  // namespace spindrift
