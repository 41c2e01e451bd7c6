#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/target_model.h"

namespace spindrift::testing {

struct ToyConfig {
  Position window = 0;  // 0 = every layer sees everything
  Position max_context = 512;
  bool breaks_row_law = false;  // sums in another order when a forward holds more than one row
  Position poisoned = -1;       // logits drawn at this position hold a NaN
};

// A two-layer attention model of a few hundred weights that keeps the contract of TargetModel: rows
// with parents, taps, staged and committed keys, windows. Its logits depend on every visible token
// and on the position, and rounding shows in them, so ledgers over it mean something.
class ToyTarget final : public TargetModel {
 public:
  static constexpr int64_t kVocab = 97;
  static constexpr int64_t kHidden = 8;
  static constexpr int kLayers = 2;
  static constexpr Position kBlock = 4;  // positions in a block that is shared

  explicit ToyTarget(const ToyConfig& config = {});
  const ModelInfo& info() const override { return info_; }
  std::unique_ptr<Sequence> open() const override;
  ForwardResult forward(std::span<const SeqRows> batch, const ForwardOptions& options,
                        Workspace& ws, const Exec& ex) const override;
  void embed(std::span<const TokenId> ids, Rows out) const override;
  void lm_head(ConstRows hidden, Rows logits, const Exec& ex) const override;

 private:
  struct Layer {
    std::vector<float> q, k, v, o;
  };
  ToyConfig config_;
  ModelInfo info_;
  std::vector<float> embedding_, head_;
  Layer layers_[kLayers];
};

}  // namespace spindrift::testing
