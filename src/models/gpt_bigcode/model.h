#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/batch.h"
#include "models/gpt_bigcode/config.h"
#include "models/gpt_bigcode/weights.h"
#include "models/target_model.h"
#include "nn/kv_cache.h"

namespace spindrift::gpt_bigcode {

// GPTBigCode: learned positions, LayerNorms with biases, multi-query attention and a two-layer MLP
// with a GELU. The weights' store must outlive it.
class Model final : public TargetModel {
 public:
  // kv: the type keys and values are stored in, kF32 or kBf16.
  Model(Config config, Weights weights, DType kv);

  const ModelInfo& info() const override { return info_; }
  std::unique_ptr<Sequence> open() const override;
  ForwardResult forward(std::span<const SeqRows> batch, const ForwardOptions& options,
                        Workspace& ws, const Exec& ex) const override;
  void embed(std::span<const TokenId> ids, Rows out) const override;
  void lm_head(ConstRows hidden, Rows logits, const Exec& ex) const override;

 private:
  void attention(size_t layer, const BatchLayout& batch, ConstRows h, Rows y, Workspace& ws,
                 const Exec& ex) const;
  void mlp(size_t layer, ConstRows h, Rows y, Workspace& ws, const Exec& ex) const;

  Config config_;
  Weights weights_;
  ModelInfo info_;
  std::vector<nn::KvShape> kv_shapes_;
};

}  // namespace spindrift::gpt_bigcode
