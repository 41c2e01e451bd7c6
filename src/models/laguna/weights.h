#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "io/weight_store.h"
#include "models/laguna/config.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/moe.h"
#include "nn/norm.h"

namespace spindrift::laguna {

struct LayerWeights {
  nn::RmsNorm input_norm, post_norm;
  std::unique_ptr<nn::Linear> q, k, v, o;
  std::unique_ptr<nn::Linear> g;  // one logit a head, or one a head's feature
  nn::RmsNorm q_norm, k_norm;     // over one head
  std::vector<float> sinks;       // one a head, or empty
  std::variant<nn::SwiGlu, nn::Moe> mlp;
};

// A target's weights, in whatever formats they are stored; views into the store.
struct Weights {
  std::unique_ptr<nn::Linear> embed;  // [vocab, hidden]
  std::unique_ptr<nn::Linear> head;   // [vocab, hidden]; null when tied to the embedding
  nn::RmsNorm norm;
  std::vector<LayerWeights> layers;

  const nn::Linear& lm_head() const { return head ? *head : *embed; }
};

// Reads every tensor the config asks for; a tensor that is missing, of another type or shape, or
// that nothing asks for is an error. Formats are decided layer by layer from the tensors; where
// they contradict quantization_config a warning is appended.
Result<Weights> load_weights(WeightStore& store, const Config& config,
                             std::vector<std::string>& warnings);

}  // namespace spindrift::laguna
