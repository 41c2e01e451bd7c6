#include "drafters/dflash/forward.h"

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/check.h"
#include "nn/attention.h"
#include "nn/linear.h"
#include "nn/mlp.h"
#include "nn/row_pointers.h"

namespace spindrift::dflash {
namespace {

// The rows of a pass and what all layers share.
struct Pass {
  Pass(const Model& m, std::span<const Part> its_parts, Rows rows, Workspace& ws)
      : model(m), parts(its_parts), all(rows) {
    for (const Part& part : parts) {
      context += part.context;
      block += part.block;
    }
    SPINDRIFT_CHECK(all.rows() == context + block, "rows of every part");
    std::vector<Position> positions;
    for (const Part& part : parts) append_run(part.state->projected(), part.context, positions);
    for (const Part& part : parts) append_run(part.state->observed(), part.block, positions);
    for (const Part& part : parts) {
      const Position begin = part.state->projected() + part.context;
      SPINDRIFT_CHECK(part.block == 0 || begin == part.state->observed(),
                      "a block follows its context");
      paths.emplace_back(begin - part.state->origin(), part.block, std::span<const RowIndex>{});
    }
    const Config& c = model.config;
    normed = ws.rows(kNormedSlot, all.rows(), c.hidden);
    query = ws.rows(kQuerySlot, block, c.heads * c.head_dim);
    key = ws.rows(kKeySlot, all.rows(), c.kv_heads * c.head_dim);
    value = ws.rows(kValueSlot, all.rows(), c.kv_heads * c.head_dim);
    gate = ws.rows(kGateSlot, block, c.heads);
    attended = ws.rows(kAttendedSlot, block, c.heads * c.head_dim);
    delta = ws.rows(kDeltaSlot, block, c.hidden);
    feed_gate = ws.rows(kFeedGateSlot, block, c.intermediate);
    feed_up = ws.rows(kFeedUpSlot, block, c.intermediate);
    const Rows cos_rows = ws.rows(kCosSlot, all.rows(), c.head_dim / 2);
    const Rows sin_rows = ws.rows(kSinSlot, all.rows(), c.head_dim / 2);
    nn::rope_angles(model.rope, positions, cos_rows, sin_rows);
    cos = cos_rows;
    sin = sin_rows;
  }

  static void append_run(Position first, int64_t count, std::vector<Position>& out) {
    for (int64_t i = 0; i < count; ++i) out.push_back(first + i);
  }
  template <class T>
  RowsView<T> of_block(RowsView<T> rows) const {
    return rows.slice(context, block);
  }

  const Model& model;
  std::span<const Part> parts;
  Rows all;
  int64_t context = 0, block = 0;
  std::vector<nn::RowPaths> paths;  // of each part's block
  Rows normed, query, key, value, gate, attended, delta, feed_gate, feed_up;
  ConstRows cos, sin;
};

// Queries, keys and values of a layer, normed and rotated; context rows need no query.
void project(const LayerWeights& w, const Pass& p, const Exec& ex) {
  const int64_t head_dim = p.model.config.head_dim;
  w.input_norm.apply(p.all, p.normed, ex);
  {
    const nn::InPointers all(p.normed), block(p.of_block(p.normed));
    const nn::OutPointers q(p.query), k(p.key), v(p.value), g(p.gate);
    const std::array calls = {nn::LinearCall{w.k.get(), all, k}, nn::LinearCall{w.v.get(), all, v},
                              nn::LinearCall{w.q.get(), block, q},
                              nn::LinearCall{w.g.get(), block, g}};
    nn::apply(std::span(calls).first(p.block > 0 ? 4 : 2), ex);
  }
  w.k_norm.apply_per_head(p.key, ex);
  nn::apply_rope(p.key, head_dim, p.cos, p.sin, ex);
  w.q_norm.apply_per_head(p.query, ex);
  nn::apply_rope(p.query, head_dim, p.of_block(p.cos), p.of_block(p.sin), ex);
}

// Commits the context rows' keys and values and stages the blocks'.
void store(int layer, const Pass& p) {
  int64_t context_at = 0, block_at = p.context;
  for (const Part& part : p.parts) {
    nn::KvCache& cache = part.state->cache(layer);
    if (part.context > 0) {
      std::vector<RowIndex> path(static_cast<size_t>(part.context));
      std::iota(path.begin(), path.end(), 0);
      cache.stage(p.key.slice(context_at, part.context), p.value.slice(context_at, part.context));
      cache.commit(path);
    }
    cache.stage(p.key.slice(block_at, part.block), p.value.slice(block_at, part.block));
    context_at += part.context;
    block_at += part.block;
  }
}

void attend(const LayerWeights& w, int layer, const Pass& p, const Exec& ex) {
  const Config& c = p.model.config;
  std::vector<nn::AttentionPart> parts;
  int64_t at = 0;
  for (size_t i = 0; i < p.parts.size(); ++i) {
    const int64_t rows = p.parts[i].block;
    if (rows > 0) {
      parts.push_back({.cache = &p.parts[i].state->cache(layer),
                       .paths = &p.paths[i],
                       .q = p.query.slice(at, rows),
                       .out = p.attended.slice(at, rows)});
    }
    at += rows;
  }
  const float scale = 1.0F / std::sqrt(static_cast<float>(c.head_dim));
  nn::attention(parts, c.heads, scale, {}, ex);
  nn::softplus_gate(p.gate, p.attended, ex);
  nn::apply(*w.o, p.attended, p.delta, ex);
  nn::add(p.of_block(p.all), p.delta, ex);
}

void feed_forward(const LayerWeights& w, const Pass& p, const Exec& ex) {
  const Rows normed = p.of_block(p.normed);
  w.post_attention_norm.apply(p.of_block(p.all), normed, ex);
  nn::swiglu(w.mlp, normed, p.feed_gate, p.feed_up, p.delta, ex);
  nn::add(p.of_block(p.all), p.delta, ex);
}

}  // namespace

void project_taps(const Model& model, std::span<const float* const> normed_taps, Rows out,
                  const Exec& ex) {
  if (normed_taps.empty()) return;
  const nn::OutPointers to(out);
  const nn::LinearCall call{model.weights.fc.get(), normed_taps, to};
  nn::apply(std::span(&call, 1), ex);
  model.weights.hidden_norm.apply(out, out, ex);
}

void run_pass(const Model& model, std::span<const Part> parts, Rows x, Workspace& ws,
              const Exec& ex) {
  const Pass pass(model, parts, x, ws);
  for (int layer = 0; layer < model.config.layers; ++layer) {
    const LayerWeights& w = model.weights.layers[static_cast<size_t>(layer)];
    project(w, pass, ex);
    store(layer, pass);
    if (pass.block == 0) continue;
    attend(w, layer, pass, ex);
    feed_forward(w, pass, ex);
  }
  for (const Part& part : parts) {
    for (int layer = 0; layer < model.config.layers; ++layer) part.state->cache(layer).commit({});
    part.state->drop_projected();
  }
  const Rows block = pass.of_block(pass.all);
  model.weights.norm.apply(block, block, ex);
}

}  // namespace spindrift::dflash
