#pragma once

#include <vector>

#include "core/dtype.h"
#include "models/batch.h"
#include "models/kv_sequence.h"
#include "models/laguna/config.h"
#include "models/laguna/weights.h"
#include "models/target_model.h"
#include "nn/kv_cache.h"
#include "nn/rope.h"

namespace spindrift::laguna {

// Laguna: pre-norm decoder layers of gated grouped-query attention (full or over a sliding window)
// and a dense MLP or a mixture of experts. The weights' store must outlive it.
class Model final : public TargetModel {
 public:
  // kv: the type keys and values are stored in, kF32 or kBf16.
  Model(Config config, Weights weights, DType kv);

  const ModelInfo& info() const override { return info_; }
  const Config& config() const { return config_; }
  std::unique_ptr<Sequence> open() const override;
  ForwardResult forward(std::span<const SeqRows> batch, const ForwardOptions& options,
                        Workspace& ws, const Exec& ex) const override;
  void embed(std::span<const TokenId> ids, Rows out) const override;
  void lm_head(ConstRows hidden, Rows logits, const Exec& ex) const override;

 private:
  struct Angles {
    Rows cos, sin;  // [rows, rotated / 2]
  };
  Angles angles(const nn::Rope& rope, const BatchLayout& batch, size_t slot, Workspace& ws) const;
  void attention(size_t layer, const BatchLayout& batch, const Angles& angles, ConstRows h, Rows y,
                 Workspace& ws, const Exec& ex) const;
  void mlp(size_t layer, ConstRows h, Rows y, Workspace& ws, const Exec& ex) const;

  Config config_;
  Weights weights_;
  ModelInfo info_;
  nn::Rope full_rope_, sliding_rope_;
  std::vector<nn::KvShape> kv_shapes_;
};

}  // namespace spindrift::laguna
