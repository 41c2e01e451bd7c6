#pragma once

#include <string_view>

#include "io/weight_store.h"
#include "models/laguna/config.h"

// Where checkpoints keep Laguna's tensors: the published names and the spellings of repackings.
namespace spindrift::laguna {

struct Names {
  explicit Names(WeightStore& store) : root{&store, ""} {}

  WeightScope root;

  WeightScope embed() const { return root / "model" / "embed_tokens"; }
  WeightScope final_norm() const { return root / "model" / "norm"; }
  WeightScope head() const { return root / "lm_head"; }
  WeightScope layer(int64_t index) const { return root / "model" / "layers" / index; }
};

// Inside a layer's `mlp`: `shared_expert` or `shared_experts`; `gate` or `gate.proj`.
WeightScope shared_expert(const WeightScope& mlp);
WeightScope router(const WeightScope& mlp);
// The router's selection bias: under `experts`, `gate` or the mlp itself.
WeightScope selection_bias_owner(const WeightScope& mlp);
inline constexpr std::string_view kSelectionBias = "e_score_correction_bias";

// Marks what releases carry and no forward uses: scales of a quantised cache, rotary tables, and
// the head of a tied model.
void ignore_unused(const Names& names, const Config& config);

}  // namespace spindrift::laguna
