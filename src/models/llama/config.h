#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"
#include "core/types.h"
#include "io/json_config.h"
#include "models/registry.h"
#include "models/target_model.h"
#include "nn/rope.h"

namespace spindrift::llama {

// config.json of a Llama or a Granite 3 model, checked. Granite is Llama with four multipliers; for
// Llama they are neutral.
struct Config {
  std::string file;
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  Position max_context = 0;
  float eps = 0.0F;
  bool tied = false;            // the head is the embedding
  bool attention_bias = false;  // q, k, v and o have biases
  bool mlp_bias = false;
  nn::Rope rope;
  std::string rope_kind;  // "default", "linear" or "llama3"

  float embedding_multiplier = 1.0F;  // of the embedding's rows
  float attention_scale = 0.0F;       // of q.k
  float residual_multiplier = 1.0F;   // of each sublayer's output
  float logits_scaling = 1.0F;        // logits are divided by it
};

// Reads the config of a Llama (model_type `llama`) or Granite (`granite`) target. Errors name file,
// key, expected and found. Defaults: the configuration classes of transformers.
Result<Config> read_config(const JsonObject& json);

ModelInfo info_of(const Config& config);
ConfigSummary summarise(const Config& config);

}  // namespace spindrift::llama
