#include "models/gpt_bigcode/weights.h"

#include <utility>

namespace spindrift::gpt_bigcode {
namespace {

constexpr auto kBias = nn::Bias::kRequired;

Result<LayerWeights> load_layer(const WeightScope& scope, const Config& c) {
  const WeightScope attention = scope / "attn", mlp = scope / "mlp";
  const int64_t H = c.hidden, D = c.head_dim;
  LayerWeights w;
  SPINDRIFT_TRY(w.input_norm, nn::load_layer_norm(scope / "ln_1", H, c.eps));
  SPINDRIFT_TRY(w.post_norm, nn::load_layer_norm(scope / "ln_2", H, c.eps));
  // Rows: the queries of all heads, then one key head, then one value head.
  SPINDRIFT_TRY(const auto joined, nn::load_linear(attention / "c_attn", H + 2 * D, H, kBias));
  w.q = joined->slice(0, H);
  w.k = joined->slice(H, D);
  w.v = joined->slice(H + D, D);
  SPINDRIFT_TRY(w.o, nn::load_linear(attention / "c_proj", H, H, kBias));
  SPINDRIFT_TRY(w.up, nn::load_linear(mlp / "c_fc", c.inner, H, kBias));
  SPINDRIFT_TRY(w.down, nn::load_linear(mlp / "c_proj", H, c.inner, kBias));
  attention.ignore("bias");
  attention.ignore("masked_bias");
  return w;
}

}  // namespace

Result<Weights> load_weights(WeightStore& store, const Config& c) {
  const WeightScope root{&store, ""}, model = root / "transformer";
  Weights w;
  SPINDRIFT_TRY(w.embed, nn::load_linear(model / "wte", c.vocab, c.hidden));
  SPINDRIFT_TRY(w.positions, nn::load_linear(model / "wpe", c.max_context, c.hidden));
  SPINDRIFT_TRY(w.norm, nn::load_layer_norm(model / "ln_f", c.hidden, c.eps));
  if (c.tied) {
    root.ignore("lm_head.weight");
  } else {
    SPINDRIFT_TRY(w.head, nn::load_linear(root / "lm_head", c.vocab, c.hidden));
  }
  w.layers.reserve(static_cast<size_t>(c.layers));
  for (int64_t i = 0; i < c.layers; ++i) {
    SPINDRIFT_TRY(LayerWeights layer, load_layer(model / "h" / i, c));
    w.layers.push_back(std::move(layer));
  }
  SPINDRIFT_TRY_STATUS(store.check_all_read());
  return w;
}

}  // namespace spindrift::gpt_bigcode
