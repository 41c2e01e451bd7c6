#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "io/weight_store.h"
#include "models/gpt_bigcode/config.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace spindrift::gpt_bigcode {

struct LayerWeights {
  nn::LayerNorm input_norm, post_norm;
  std::unique_ptr<nn::Linear> q, k, v;  // cut from the joined c_attn
  std::unique_ptr<nn::Linear> o;        // attn.c_proj
  std::unique_ptr<nn::Linear> up;       // mlp.c_fc
  std::unique_ptr<nn::Linear> down;     // mlp.c_proj
};

// A target's weights; views into the store.
struct Weights {
  std::unique_ptr<nn::Linear> embed;      // [vocab, hidden]
  std::unique_ptr<nn::Linear> positions;  // [context, hidden]
  std::unique_ptr<nn::Linear> head;       // [vocab, hidden]; null when tied to the embedding
  nn::LayerNorm norm;
  std::vector<LayerWeights> layers;

  const nn::Linear& lm_head() const { return head ? *head : *embed; }
};

// Reads every tensor the config asks for, under `transformer.`; a tensor that is missing, of
// another type or shape, or that nothing asks for is an error. Causal masks that old checkpoints
// carry (`attn.bias`, `attn.masked_bias`) and the head of a tied model are passed over.
Result<Weights> load_weights(WeightStore& store, const Config& config);

}  // namespace spindrift::gpt_bigcode
