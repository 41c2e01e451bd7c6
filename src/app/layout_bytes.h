#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "io/checkpoint_summary.h"

namespace spindrift {

// What decoding one token would read of a model in one published layout, keys and values not
// counted.
struct LayoutBytes {
  std::string_view layout;  // "MLX 4-bit"
  int64_t bytes_per_token = 0;
};

// The layouts in which mixtures of experts are published, fewest bytes first, for a model with
// these groups of tensors. Empty when one of the formats does not tell how many weights it holds.
std::vector<LayoutBytes> compare_layouts(std::span<const ModuleGroup> groups);

}  // namespace spindrift
