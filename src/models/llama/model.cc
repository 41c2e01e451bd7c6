#include "models/llama/model.h"

#include <array>
#include <utility>

#include "models/decoder_parts.h"
#include "models/kv_sequence.h"
#include "models/output_rows.h"
#include "nn/row_pointers.h"

// Shapes in the margin: R rows of the batch, H hidden, N query heads, K key-value heads, D head
// size, I inner size, V vocabulary.
namespace spindrift::llama {
namespace {

enum Slot : size_t {
  kResidual,
  kNormed,
  kDelta,
  kQuery,
  kKey,
  kValue,
  kAttended,
  kCos,
  kSin,
  kInnerGate,
  kInnerUp,
  kOutput  // the slots of OutputRows begin here
};

}  // namespace

Model::Model(Config config, Weights weights, DType kv)
    : config_(std::move(config)), weights_(std::move(weights)), info_(info_of(config_)) {
  const nn::KvShape shape{
      .kv_heads = config_.kv_heads, .head_dim = config_.head_dim, .window = 0, .dtype = kv};
  kv_shapes_.assign(static_cast<size_t>(config_.layers), shape);
}

std::unique_ptr<Sequence> Model::open() const { return std::make_unique<KvSequence>(kv_shapes_); }

ForwardResult Model::forward(std::span<const SeqRows> rows, const ForwardOptions& options,
                             Workspace& ws, const Exec& ex) const {
  const BatchLayout batch(rows);
  const int64_t R = batch.rows(), H = config_.hidden;
  const auto half = static_cast<int64_t>(config_.rope.inv_freq.size());
  Rows x = ws.rows(kResidual, R, H);                                      // [R, H]
  Rows delta = ws.rows(kDelta, R, H);                                     // [R, H]
  const Rows h = ws.rows(kNormed, R, H);                                  // [R, H]
  const Rows gate = ws.rows(kInnerGate, R, config_.intermediate);         // [R, I]
  const Rows up = ws.rows(kInnerUp, R, config_.intermediate);             // [R, I]
  const Rows cos = ws.rows(kCos, R, half), sin = ws.rows(kSin, R, half);  // [R, D / 2]
  OutputRows output(batch, options, H, ws, kOutput);
  nn::rope_angles(config_.rope, batch.positions(), cos, sin);
  // x = x + residual_multiplier * delta, into the other buffer.
  const auto add_delta = [&] {
    nn::scale_add(delta, config_.residual_multiplier, x, ex);
    std::swap(x, delta);
  };

  embed(batch.tokens(), x);  // [R, H]
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    layer.input_norm.apply(x, h, ex);
    attention(i, batch, cos, sin, h, delta, ws, ex);
    add_delta();
    layer.post_norm.apply(x, h, ex);
    nn::swiglu(layer.mlp, h, gate, up, delta, ex);
    add_delta();
    output.record({Tap::Kind::kAfterLayer, static_cast<int>(i)}, x);
  }
  return output.finish(
      *this, [&](Rows state) { weights_.norm.apply(state, state, ex); }, x, ex);
}

void Model::attention(size_t index, const BatchLayout& batch, ConstRows cos, ConstRows sin,
                      ConstRows h, Rows y, Workspace& ws, const Exec& ex) const {
  const LayerWeights& layer = weights_.layers[index];
  const int64_t R = batch.rows(), D = config_.head_dim, N = config_.heads, K = config_.kv_heads;
  const Rows q = ws.rows(kQuery, R, N * D);            // [R, N D]
  const Rows k = ws.rows(kKey, R, K * D);              // [R, K D]
  const Rows v = ws.rows(kValue, R, K * D);            // [R, K D]
  const Rows attended = ws.rows(kAttended, R, N * D);  // [R, N D]
  {
    const nn::InPointers in(h);
    const nn::OutPointers to_q(q), to_k(k), to_v(v);
    nn::apply(
        std::array{nn::LinearCall{layer.q.get(), in, to_q}, nn::LinearCall{layer.k.get(), in, to_k},
                   nn::LinearCall{layer.v.get(), in, to_v}},
        ex);
  }
  nn::apply_rope(q, D, cos, sin, ex);
  nn::apply_rope(k, D, cos, sin, ex);
  attend({.layer = index, .heads = N, .scale = config_.attention_scale}, batch, q, k, v, attended,
         ws, ex);
  nn::apply(*layer.o, attended, y, ex);  // [R, H]
}

void Model::embed(std::span<const TokenId> ids, Rows out) const {
  embed_rows(*weights_.embed, ids, out);
  if (config_.embedding_multiplier == 1.0F) return;
  for (int64_t r = 0; r < out.rows(); ++r)
    for (float& value : out.row(r)) value *= config_.embedding_multiplier;
}

void Model::lm_head(ConstRows hidden, Rows logits, const Exec& ex) const {
  nn::apply(weights_.lm_head(), hidden, logits, ex);
  if (config_.logits_scaling == 1.0F) return;
  for (int64_t r = 0; r < logits.rows(); ++r)
    for (float& logit : logits.row(r)) logit /= config_.logits_scaling;
}

}  // namespace spindrift::llama
