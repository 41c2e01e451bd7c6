#pragma once

#include <string_view>

#include "core/result.h"
#include "io/weight_store.h"
#include "models/laguna/config.h"

// Where checkpoints keep Laguna's tensors: the published names and the spellings of repackings.
namespace spindrift::laguna {

struct Names {
  explicit Names(WeightStore& store);

  WeightScope root;  // of the store, or its `language_model` when every name is under that

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

// Where a mixture's experts are, each a `gate_proj`, `up_proj` and `down_proj`.
struct ExpertNames {
  WeightScope scope;
  // Whether a layer's experts share one tensor, [experts, out, in], under `scope` (`switch_mlp` as
  // mlx-lm saves them, `experts` as transformers does). Otherwise expert i's are under scope / i.
  bool stacked = false;
};
// kInvalid, naming a tensor of each, when some experts of the layer are stored one way and some
// another.
Result<ExpertNames> expert_names(const WeightScope& mlp);

// Whether an MLP's gate and up are stored as one layer, `gate_up_proj`, the gate's rows first.
// kInvalid, naming both, when they are there joined and apart.
Result<bool> joins_gate_and_up(const WeightScope& mlp);

// Marks what releases carry and no forward uses: scales of a quantised cache, rotary tables, and
// the head of a tied model.
void ignore_unused(const Names& names, const Config& config);

}  // namespace spindrift::laguna
