#include "models/laguna/names.h"

namespace spindrift::laguna {
namespace {

// The first of two spellings unless only the second is there.
WeightScope either(const WeightScope& owner, std::string_view usual, std::string_view other) {
  const WeightScope second = owner / other;
  const bool there = !second.store->names(second.prefix + '.').empty();
  const WeightScope first = owner / usual;
  return there && first.store->names(first.prefix + '.').empty() ? second : first;
}

}  // namespace

WeightScope shared_expert(const WeightScope& mlp) {
  return either(mlp, "shared_expert", "shared_experts");
}

WeightScope router(const WeightScope& mlp) {
  const WeightScope gate = mlp / "gate", proj = gate / "proj";
  return proj.has("weight") && !gate.has("weight") ? proj : gate;
}

WeightScope selection_bias_owner(const WeightScope& mlp) {
  const WeightScope experts = mlp / "experts", gate = mlp / "gate";
  if (!experts.has(kSelectionBias) && gate.has(kSelectionBias)) return gate;
  if (!experts.has(kSelectionBias) && mlp.has(kSelectionBias)) return mlp;
  return experts;
}

void ignore_unused(const Names& names, const Config& config) {
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const WeightScope attention = names.layer(static_cast<int64_t>(i)) / "self_attn";
    attention.ignore("k_scale");
    attention.ignore("v_scale");
    (attention / "rotary_emb").ignore("inv_freq");
  }
  (names.root / "model" / "rotary_emb").ignore("inv_freq");
  if (!config.tied) return;
  const WeightScope head = names.head();
  for (const std::string_view name : head.store->names(head.prefix + '.')) head.store->ignore(name);
}

}  // namespace spindrift::laguna
