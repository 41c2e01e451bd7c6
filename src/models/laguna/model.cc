#include "models/laguna/model.h"

#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "models/decoder_parts.h"
#include "models/kv_sequence.h"
#include "models/laguna/summary.h"
#include "models/output_rows.h"
#include "nn/mlp.h"
#include "nn/moe.h"
#include "nn/row_pointers.h"

// Shapes in the margin: R rows of the batch, H hidden, N query heads, K key-value heads, D head
// size, V vocabulary, L rows whose logits are asked for.
namespace spindrift::laguna {
namespace {

enum Slot : size_t {
  kResidual,
  kNormed,
  kDelta,
  kQuery,
  kKey,
  kValue,
  kGate,
  kAttended,
  kFullCos,
  kFullSin,
  kSlidingCos,
  kSlidingSin,
  kInnerGate,
  kInnerUp,
  kOutput  // the slots of OutputRows begin here
};

struct Scratch final : WorkspaceItem {
  nn::MoeScratch moe;
};

}  // namespace

Model::Model(Config config, Weights weights, DType kv)
    : config_(std::move(config)), weights_(std::move(weights)) {
  info_ = info_of(config_);
  for (const LayerConfig& layer : config_.layers) {
    (layer.sliding ? sliding_rope_ : full_rope_) =
        (layer.sliding ? config_.sliding_rope : config_.full_rope).make();
    kv_shapes_.push_back({.kv_heads = config_.kv_heads,
                          .head_dim = config_.head_dim,
                          .window = layer.sliding ? config_.window : 0,
                          .dtype = kv});
  }
}

std::unique_ptr<Sequence> Model::open() const { return std::make_unique<KvSequence>(kv_shapes_); }

ForwardResult Model::forward(std::span<const SeqRows> rows, const ForwardOptions& options,
                             Workspace& ws, const Exec& ex) const {
  const BatchLayout batch(rows);
  const int64_t R = batch.rows(), H = config_.hidden;
  const Rows x = ws.rows(kResidual, R, H);   // [R, H]
  const Rows h = ws.rows(kNormed, R, H);     // [R, H]
  const Rows delta = ws.rows(kDelta, R, H);  // [R, H]
  OutputRows output(batch, options, H, ws, kOutput);
  const Angles full = angles(full_rope_, batch, kFullCos, ws);  // [R, D_rot / 2]
  const Angles sliding = angles(sliding_rope_, batch, kSlidingCos, ws);

  embed(batch.tokens(), x);  // [R, H]
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    layer.input_norm.apply(x, h, ex);
    attention(i, batch, config_.layers[i].sliding ? sliding : full, h, delta, ws, ex);
    nn::add(x, delta, ex);
    layer.post_norm.apply(x, h, ex);
    mlp(i, h, delta, ws, ex);
    nn::add(x, delta, ex);
    output.record({Tap::Kind::kAfterLayer, static_cast<int>(i)}, x);
  }
  return output.finish(
      *this, [&](Rows state) { weights_.norm.apply(state, state, ex); }, x, ex);
}

void Model::attention(size_t index, const BatchLayout& batch, const Angles& angles, ConstRows h,
                      Rows y, Workspace& ws, const Exec& ex) const {
  const LayerWeights& layer = weights_.layers[index];
  const int64_t R = batch.rows(), D = config_.head_dim, N = config_.layers[index].heads;
  const Rows q = ws.rows(kQuery, R, N * D);                 // [R, N D]
  const Rows k = ws.rows(kKey, R, config_.kv_heads * D);    // [R, K D]
  const Rows v = ws.rows(kValue, R, config_.kv_heads * D);  // [R, K D]
  const Rows g = ws.rows(kGate, R, layer.g->out());         // [R, N] or [R, N D]
  const Rows attended = ws.rows(kAttended, R, N * D);       // [R, N D]
  {
    const nn::InPointers in(h);
    const nn::OutPointers to_q(q), to_k(k), to_v(v), to_g(g);
    nn::apply(
        std::array{nn::LinearCall{layer.q.get(), in, to_q}, nn::LinearCall{layer.k.get(), in, to_k},
                   nn::LinearCall{layer.v.get(), in, to_v},
                   nn::LinearCall{layer.g.get(), in, to_g}},
        ex);
  }
  layer.q_norm.apply_per_head(q, ex);
  layer.k_norm.apply_per_head(k, ex);
  nn::apply_rope(q, D, angles.cos, angles.sin, ex);
  nn::apply_rope(k, D, angles.cos, angles.sin, ex);
  const float scale = 1.0F / std::sqrt(static_cast<float>(D));
  attend({.layer = index, .heads = N, .scale = scale, .sinks = layer.sinks}, batch, q, k, v,
         attended, ws, ex);
  nn::softplus_gate(g, attended, ex);
  nn::apply(*layer.o, attended, y, ex);  // [R, H]
}

void Model::mlp(size_t index, ConstRows h, Rows y, Workspace& ws, const Exec& ex) const {
  const LayerWeights& layer = weights_.layers[index];
  if (const auto* moe = std::get_if<nn::Moe>(&layer.mlp)) {
    nn::moe(*moe, h, y, ws.item<Scratch>().moe, ex);
    return;
  }
  const auto& dense = std::get<nn::SwiGlu>(layer.mlp);
  const Rows gate = ws.rows(kInnerGate, h.rows(), dense.inner());
  const Rows up = ws.rows(kInnerUp, h.rows(), dense.inner());
  nn::swiglu(dense, h, gate, up, y, ex);
}

Model::Angles Model::angles(const nn::Rope& rope, const BatchLayout& batch, size_t slot,
                            Workspace& ws) const {
  const auto half = static_cast<int64_t>(rope.inv_freq.size());
  const Angles angles{ws.rows(slot, batch.rows(), half), ws.rows(slot + 1, batch.rows(), half)};
  nn::rope_angles(rope, batch.positions(), angles.cos, angles.sin);
  return angles;
}

void Model::embed(std::span<const TokenId> ids, Rows out) const {
  embed_rows(*weights_.embed, ids, out);
}

void Model::lm_head(ConstRows hidden, Rows logits, const Exec& ex) const {
  nn::apply(weights_.lm_head(), hidden, logits, ex);
}

}  // namespace spindrift::laguna
