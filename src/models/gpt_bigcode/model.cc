#include "models/gpt_bigcode/model.h"

#include <array>
#include <utility>

#include "core/check.h"
#include "models/decoder_parts.h"
#include "models/kv_sequence.h"
#include "models/output_rows.h"
#include "nn/mlp.h"
#include "nn/row_pointers.h"

// Shapes in the margin: R rows of the batch, H hidden, N query heads, D head size, I inner size.
namespace spindrift::gpt_bigcode {
namespace {

enum Slot : size_t {
  kResidual,
  kNormed,
  kDelta,
  kQuery,
  kKey,
  kValue,
  kAttended,
  kInner,
  kPosition,
  kOutput  // the slots of OutputRows begin here
};

}  // namespace

Model::Model(Config config, Weights weights, DType kv)
    : config_(std::move(config)), weights_(std::move(weights)), info_(info_of(config_)) {
  const nn::KvShape shape{.kv_heads = 1, .head_dim = config_.head_dim, .window = 0, .dtype = kv};
  kv_shapes_.assign(static_cast<size_t>(config_.layers), shape);
}

std::unique_ptr<Sequence> Model::open() const { return std::make_unique<KvSequence>(kv_shapes_); }

ForwardResult Model::forward(std::span<const SeqRows> rows, const ForwardOptions& options,
                             Workspace& ws, const Exec& ex) const {
  const BatchLayout batch(rows);
  const int64_t R = batch.rows(), H = config_.hidden;
  const Rows x = ws.rows(kResidual, R, H);         // [R, H]
  const Rows h = ws.rows(kNormed, R, H);           // [R, H]
  const Rows delta = ws.rows(kDelta, R, H);        // [R, H]
  const Rows position = ws.rows(kPosition, 1, H);  // [1, H]
  OutputRows output(batch, options, H, ws, kOutput);

  embed(batch.tokens(), x);  // [R, H]
  for (int64_t r = 0; r < R; ++r) {
    const Position p = batch.positions()[static_cast<size_t>(r)];
    SPINDRIFT_CHECK(p < config_.max_context, "positions lie in the context");
    weights_.positions->read_row(p, position.row(0));
    nn::add(x.slice(r, 1), position, ex);
  }
  for (size_t i = 0; i < weights_.layers.size(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    layer.input_norm.apply(x, h, ex);
    attention(i, batch, h, delta, ws, ex);
    nn::add(x, delta, ex);
    layer.post_norm.apply(x, h, ex);
    mlp(i, h, delta, ws, ex);
    nn::add(x, delta, ex);
    output.record({Tap::Kind::kAfterLayer, static_cast<int>(i)}, x);
  }
  return output.finish(
      *this, [&](Rows state) { weights_.norm.apply(state, state, ex); }, x, ex);
}

void Model::attention(size_t index, const BatchLayout& batch, ConstRows h, Rows y, Workspace& ws,
                      const Exec& ex) const {
  const LayerWeights& layer = weights_.layers[index];
  const int64_t R = batch.rows(), D = config_.head_dim, N = config_.heads;
  const Rows q = ws.rows(kQuery, R, N * D);            // [R, N D]
  const Rows k = ws.rows(kKey, R, D);                  // [R, D]
  const Rows v = ws.rows(kValue, R, D);                // [R, D]
  const Rows attended = ws.rows(kAttended, R, N * D);  // [R, N D]
  {
    const nn::InPointers in(h);
    const nn::OutPointers to_q(q), to_k(k), to_v(v);
    nn::apply(
        std::array{nn::LinearCall{layer.q.get(), in, to_q}, nn::LinearCall{layer.k.get(), in, to_k},
                   nn::LinearCall{layer.v.get(), in, to_v}},
        ex);
  }
  attend({.layer = index, .heads = N, .scale = config_.attention_scale}, batch, q, k, v, attended,
         ws, ex);
  nn::apply(*layer.o, attended, y, ex);  // [R, H]
}

void Model::mlp(size_t index, ConstRows h, Rows y, Workspace& ws, const Exec& ex) const {
  const LayerWeights& layer = weights_.layers[index];
  const Rows inner = ws.rows(kInner, h.rows(), config_.inner);  // [R, I]
  nn::apply(*layer.up, h, inner, ex);
  if (config_.activation == Activation::kGelu)
    nn::gelu(inner, ex);
  else
    nn::gelu_tanh(inner, ex);
  nn::apply(*layer.down, inner, y, ex);  // [R, H]
}

void Model::embed(std::span<const TokenId> ids, Rows out) const {
  embed_rows(*weights_.embed, ids, out);
}

void Model::lm_head(ConstRows hidden, Rows logits, const Exec& ex) const {
  nn::apply(weights_.lm_head(), hidden, logits, ex);
}

}  // namespace spindrift::gpt_bigcode
