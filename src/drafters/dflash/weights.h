#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "drafters/dflash/config.h"
#include "io/weight_store.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"

namespace spindrift::dflash {

// q, k, v: [heads (or kv_heads) * head_dim, hidden]; g: [heads, hidden]; o: [hidden, heads *
// head_dim].
struct LayerWeights {
  nn::RmsNorm input_norm, post_attention_norm, q_norm, k_norm;
  std::unique_ptr<nn::Linear> q, k, v, g, o;
  nn::SwiGlu mlp;
};

struct Weights {
  std::vector<nn::RmsNorm> aux_norms;  // one a tap
  std::unique_ptr<nn::Linear> fc;      // [hidden, taps * hidden]
  nn::RmsNorm hidden_norm, norm;
  std::vector<LayerWeights> layers;
};

// Reads a drafter's tensors, named as published or under `model.`, with q, k, v fused in qkv_proj
// or apart, in any stored format. The set of names must be exact: a missing tensor, one that nobody
// asked for, and a layer that has both spellings of q, k, v or a part of one are errors that name
// it. The result's views must not outlive the store.
Result<Weights> load_weights(WeightStore& store, const Config& config);

}  // namespace spindrift::dflash
