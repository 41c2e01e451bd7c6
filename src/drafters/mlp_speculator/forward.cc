#include "drafters/mlp_speculator/forward.h"

#include <cmath>
#include <utility>

#include "nn/parallel.h"

namespace spindrift::mlp_speculator {
namespace {

constexpr float kInputEps = 1e-6F;

// A state keeps the share 2^(-1/2) of itself after all stages; the rest of its unit of variance
// comes from the tokens. Activations have variance 1/2 each, hence inner / 2.
float token_weight_of(const Config& c) {
  const double state_weight = std::pow(0.5, 0.5 / c.stages);
  const double emb_weight =
      std::sqrt((1.0 - state_weight * state_weight) * (static_cast<double>(c.inner) / 2.0));
  return static_cast<float>(emb_weight / state_weight);
}

nn::RmsNorm input_norm_of(const Config& c) {
  const auto inverse_root = static_cast<float>(std::sqrt(0.5));
  return {std::vector<float>(static_cast<size_t>(c.hidden), inverse_root), kInputEps};
}

}  // namespace

Model::Model(Config config_in, Weights weights_in)
    : config(std::move(config_in)),
      weights(std::move(weights_in)),
      token_weight(token_weight_of(config)),
      input_norm(input_norm_of(config)) {}

ConstRows input_states(const Model& model, ConstRows hidden, Workspace& ws, const Exec& ex) {
  if (!model.config.scale_input) return hidden;
  const Rows normed = ws.rows(kInputSlot, hidden.rows(), hidden.cols());
  model.input_norm.apply(hidden, normed, ex);
  return normed;
}

ConstRows run_stage(const Model& model, int stage, ConstRows states, std::span<const StageRow> rows,
                    Workspace& ws, const Exec& ex) {
  const StageWeights& weights = model.weights.stages[static_cast<size_t>(stage)];
  const int64_t inner = model.config.inner;
  const Rows projected = ws.rows(kProjectedSlot, states.rows(), inner);
  nn::apply(*weights.proj, states, projected, ex);
  const Rows out = ws.rows(stage % 2 == 0 ? kEvenSlot : kOddSlot, std::ssize(rows), inner);
  nn::for_rows(ex, out.rows(), inner, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      const StageRow& from = rows[static_cast<size_t>(r)];
      weights.emb->read_row(from.token, out.row(r));
      ex.kernels->scale_add(out.row(r), model.token_weight, projected.row(from.state));
    }
  });
  weights.norm.apply(out, out, ex);
  nn::for_rows(ex, out.rows(), inner, [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      ex.kernels->add(out.row(r), weights.norm_bias);
      ex.kernels->gelu(out.row(r));
    }
  });
  return out;
}

}  // namespace spindrift::mlp_speculator
