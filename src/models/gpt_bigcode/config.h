#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "core/types.h"
#include "io/json_config.h"
#include "models/registry.h"
#include "models/target_model.h"

namespace spindrift::gpt_bigcode {

enum class Activation : uint8_t { kGelu, kGeluTanh };

// config.json of a GPTBigCode model, checked. All query heads share one key-value head.
struct Config {
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t inner = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  Position max_context = 0;  // learned positions
  float eps = 0.0F;
  float attention_scale = 1.0F;  // of q.k
  Activation activation = Activation::kGeluTanh;
  bool tied = true;  // the head is the embedding
};

// Errors name file, key, expected and found. `multi_query: false` is refused by name. Defaults: the
// configuration class of transformers.
Result<Config> read_config(const JsonObject& json);

ModelInfo info_of(const Config& config);
ConfigSummary summarise(const Config& config);

}  // namespace spindrift::gpt_bigcode
