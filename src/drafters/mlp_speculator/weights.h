#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "drafters/mlp_speculator/config.h"
#include "io/weight_store.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace spindrift::mlp_speculator {

// Output columns of a head that are computed, searched and forgotten together. Fixed, so that the
// order of a row's sums does not depend on threads.
inline constexpr int64_t kHeadBlock = 256;

// A stage's output matrix [vocab, inner] in blocks of kHeadBlock tokens, the last one shorter.
struct Head {
  std::vector<std::unique_ptr<nn::Linear>> blocks;
};

// Stages whose weights are tied share these objects.
struct StageWeights {
  std::shared_ptr<const nn::Linear> emb;   // [vocab, inner]
  std::shared_ptr<const nn::Linear> proj;  // [inner, hidden] in stage 0, else [inner, inner]
  std::shared_ptr<const Head> head;
  nn::RmsNorm norm;
  std::vector<float> norm_bias;  // [inner]
};

struct Weights {
  std::vector<StageWeights> stages;
  int64_t bytes = 0;                  // of all distinct matrices
  std::vector<std::string> warnings;  // one line each
};

// Reads a head's tensors, with or without `speculator.` before their names. Tied weights are taken
// from stage 0 (proj: stages 0 and 1), whichever way the others are stored: as names of the same
// bytes, as copies, or not at all; copies that differ are a warning. The set of names must be exact
// otherwise. The result's views must not outlive the store.
Result<Weights> load_weights(WeightStore& store, const Config& config);

}  // namespace spindrift::mlp_speculator
