#include "models/laguna/mlp_weights.h"

#include <memory>
#include <utility>
#include <vector>

#include "models/laguna/names.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace spindrift::laguna {
namespace {

void split(const nn::Linear& gate_up, nn::SwiGlu& mlp) {
  const int64_t inner = gate_up.out() / 2;
  mlp.gate = gate_up.slice(0, inner);
  mlp.up = gate_up.slice(inner, inner);
}

Result<std::vector<nn::SwiGlu>> load_stack(const WeightScope& scope, const Config& config) {
  const int64_t hidden = config.hidden, inner = config.expert_inner;
  const auto count = static_cast<size_t>(config.experts);
  std::vector<nn::SwiGlu> experts(count);
  const auto load = [&](const char* part, int64_t out, int64_t in) {
    return nn::load_stacked(scope / part, config.experts, out, in);
  };
  SPINDRIFT_TRY(const bool joined, joins_gate_and_up(scope));
  if (joined) {
    SPINDRIFT_TRY(const auto gate_up, load("gate_up_proj", 2 * inner, hidden));
    for (size_t e = 0; e < count; ++e) split(*gate_up[e], experts[e]);
  } else {
    SPINDRIFT_TRY(auto gate, load("gate_proj", inner, hidden));
    SPINDRIFT_TRY(auto up, load("up_proj", inner, hidden));
    for (size_t e = 0; e < count; ++e) {
      experts[e].gate = std::move(gate[e]);
      experts[e].up = std::move(up[e]);
    }
  }
  SPINDRIFT_TRY(auto down, load("down_proj", hidden, inner));
  for (size_t e = 0; e < count; ++e) experts[e].down = std::move(down[e]);
  return experts;
}

}  // namespace

Result<nn::SwiGlu> load_mlp(const WeightScope& mlp, int64_t hidden, int64_t inner) {
  SPINDRIFT_TRY(const bool joined, joins_gate_and_up(mlp));
  if (!joined) return nn::load_swiglu(mlp, hidden, inner);
  nn::SwiGlu loaded;
  SPINDRIFT_TRY(const auto gate_up, nn::load_linear(mlp / "gate_up_proj", 2 * inner, hidden));
  split(*gate_up, loaded);
  SPINDRIFT_TRY(loaded.down, nn::load_linear(mlp / "down_proj", hidden, inner));
  return loaded;
}

Result<nn::Moe> load_mixture(const WeightScope& mlp, const Config& config) {
  nn::Moe moe;
  moe.rule = config.router;
  SPINDRIFT_TRY(moe.router, nn::load_linear(router(mlp), config.experts, config.hidden));
  SPINDRIFT_TRY(moe.bias,
                nn::load_vector(selection_bias_owner(mlp), kSelectionBias, config.experts));
  SPINDRIFT_TRY(const ExpertNames names, expert_names(mlp));
  if (names.stacked) {
    SPINDRIFT_TRY(moe.experts, load_stack(names.scope, config));
  } else {
    moe.experts.reserve(static_cast<size_t>(config.experts));
    for (int64_t e = 0; e < config.experts; ++e) {
      SPINDRIFT_TRY(nn::SwiGlu expert,
                    load_mlp(names.scope / e, config.hidden, config.expert_inner));
      moe.experts.push_back(std::move(expert));
    }
  }
  if (config.shared_inner > 0) {
    SPINDRIFT_TRY(moe.shared, load_mlp(shared_expert(mlp), config.hidden, config.shared_inner));
  }
  return moe;
}

}  // namespace spindrift::laguna
