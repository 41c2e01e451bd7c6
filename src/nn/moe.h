#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "kernels/contract.h"
#include "nn/linear.h"
#include "nn/mlp.h"

namespace spindrift::nn {

struct RouterRule {
  int64_t top_k = 1;
  kernels::ScoreFunc score = kernels::ScoreFunc::kSigmoid;
  float softcap = 0.0F;       // 0 = none
  bool renormalize = true;    // weights divided by their sum, without an epsilon
  float routed_scale = 1.0F;  // multiplies the sum of the routed experts
};

// A mixture layer: routed_scale * sum over the chosen experts of weight * expert(x), plus the
// shared expert, ungated.
struct Moe {
  RouterRule rule;
  std::unique_ptr<Linear> router;  // [experts, hidden]; float32 logits
  std::vector<float> bias;         // [experts], added to the scores for selection only; or empty
  std::vector<SwiGlu> experts;     // all of one inner size
  std::optional<SwiGlu> shared;
};

struct Choice {
  int32_t expert = 0;
  float weight = 0.0F;
};

// The top_k experts of one row, best first: by score + bias, ties to the lower id; the weights come
// from the scores alone. chosen.size() == top_k <= scores.size(). NaN scores rank last.
void select_experts(const RouterRule& rule, std::span<const float> scores,
                    std::span<const float> bias, std::span<Choice> chosen);

// Scratch that is kept from one call to the next.
class MoeScratch {
 public:
  MoeScratch();
  ~MoeScratch();
  MoeScratch(MoeScratch&&) noexcept;
  MoeScratch& operator=(MoeScratch&&) noexcept;

 private:
  friend void moe(const Moe& layer, ConstRows x, Rows y, MoeScratch& scratch, const Exec& ex);
  struct State;
  std::unique_ptr<State> state_;
};

// y = layer(x), x and y [rows, hidden]. Experts run grouped across rows, so that the weights of
// each are read once; each row adds its experts in its own order of rank (row law).
void moe(const Moe& layer, ConstRows x, Rows y, MoeScratch& scratch, const Exec& ex);

}  // namespace spindrift::nn
