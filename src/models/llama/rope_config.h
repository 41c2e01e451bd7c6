#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "io/json_config.h"
#include "nn/rope.h"

namespace spindrift::llama {

struct RopeConfig {
  nn::Rope rope;
  std::string kind;
};

// `rope_theta` with an optional `rope_scaling`, or `rope_parameters` that holds both; types
// `default`, `linear` and `llama3`. Any other type is refused by name.
Result<RopeConfig> read_rope(const JsonObject& json, int64_t head_dim);

}  // namespace spindrift::llama
