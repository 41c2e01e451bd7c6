#pragma once

#include <memory>
#include <vector>

#include "core/result.h"
#include "io/weight_store.h"
#include "models/llama/config.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/norm.h"

namespace spindrift::llama {

struct LayerWeights {
  nn::RmsNorm input_norm, post_norm;
  std::unique_ptr<nn::Linear> q, k, v, o;
  nn::SwiGlu mlp;
};

// A target's weights; views into the store.
struct Weights {
  std::unique_ptr<nn::Linear> embed;  // [vocab, hidden]
  std::unique_ptr<nn::Linear> head;   // [vocab, hidden]; null when tied to the embedding
  nn::RmsNorm norm;
  std::vector<LayerWeights> layers;

  const nn::Linear& lm_head() const { return head ? *head : *embed; }
};

// Reads every tensor the config asks for; a tensor that is missing, of another type or shape, or
// that nothing asks for is an error. Rotary tables and the head of a tied model are passed over.
Result<Weights> load_weights(WeightStore& store, const Config& config);

}  // namespace spindrift::llama
