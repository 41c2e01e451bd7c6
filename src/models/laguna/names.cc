#include "models/laguna/names.h"

#include <string>
#include <vector>

#include "models/module_groups.h"

namespace spindrift::laguna {
namespace {

// The first of two spellings unless only the second is there.
WeightScope either(const WeightScope& owner, std::string_view usual, std::string_view other) {
  const WeightScope second = owner / other;
  const bool there = !second.store->names(second.prefix + '.').empty();
  const WeightScope first = owner / usual;
  return there && first.store->names(first.prefix + '.').empty() ? second : first;
}

// The first tensor of `scope`'s module `part`, or with exactly that name; empty when there is none.
std::string_view first_of(const WeightScope& scope, std::string_view part) {
  const WeightScope module = scope / part;
  const auto names = module.store->names(module.prefix);
  for (const std::string_view name : names)
    if (name.size() == module.prefix.size() || name[module.prefix.size()] == '.') return name;
  return {};
}

Error both_there(const WeightScope& mlp, const char* expected, std::string_view one,
                 std::string_view other) {
  return {ErrorCode::kInvalid, mlp.store->where() + ": layer `" + mlp.prefix + "`: expected " +
                                   expected + ", found `" + std::string(one) + "` and `" +
                                   std::string(other) + "`"};
}

}  // namespace

Names::Names(WeightStore& store) : root{&store, ""} {
  const bool prefixed = !store.names("language_model.").empty();
  if (prefixed && store.names("model.").empty()) root.prefix = "language_model";
}

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

Result<ExpertNames> expert_names(const WeightScope& mlp) {
  const WeightScope experts = mlp / "experts", stack = mlp / "switch_mlp";
  const auto below = experts.store->names(experts.prefix + '.');
  std::string_view single;  // a number sorts before every other name
  if (!below.empty()) {
    std::string_view rest = below.front().substr(experts.prefix.size() + 1);
    if (is_number(next_part(rest))) single = below.front();
  }
  std::string_view fused, switched;
  for (const std::string_view part : {"gate_up_proj", "gate_proj", "up_proj", "down_proj"}) {
    if (fused.empty()) fused = first_of(experts, part);
    if (switched.empty()) switched = first_of(stack, part);
  }
  const std::string_view first = !single.empty() ? single : fused;
  const std::string_view second = !switched.empty() ? switched : fused;
  if (!first.empty() && !second.empty() && first != second)
    return both_there(mlp, "all experts in separate tensors or all in one stack", first, second);
  if (!switched.empty()) return ExpertNames{stack, true};
  return ExpertNames{experts, !fused.empty()};
}

Result<bool> joins_gate_and_up(const WeightScope& mlp) {
  const std::string_view joined = first_of(mlp, "gate_up_proj");
  if (joined.empty()) return false;
  for (const std::string_view part : {"gate_proj", "up_proj"}) {
    const std::string_view apart = first_of(mlp, part);
    if (!apart.empty()) return both_there(mlp, "gate and up either joined or apart", joined, apart);
  }
  return true;
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
