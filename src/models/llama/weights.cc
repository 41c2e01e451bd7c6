#include "models/llama/weights.h"

#include <utility>

namespace spindrift::llama {
namespace {

Result<LayerWeights> load_layer(const WeightScope& scope, const Config& c) {
  const auto attention_bias = c.attention_bias ? nn::Bias::kRequired : nn::Bias::kNone;
  const auto mlp_bias = c.mlp_bias ? nn::Bias::kRequired : nn::Bias::kNone;
  const int64_t q_width = c.heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  const WeightScope attention = scope / "self_attn";
  LayerWeights w;
  SPINDRIFT_TRY(w.input_norm, nn::load_rms_norm(scope / "input_layernorm", c.hidden, c.eps));
  SPINDRIFT_TRY(w.post_norm,
                nn::load_rms_norm(scope / "post_attention_layernorm", c.hidden, c.eps));
  SPINDRIFT_TRY(w.q, nn::load_linear(attention / "q_proj", q_width, c.hidden, attention_bias));
  SPINDRIFT_TRY(w.k, nn::load_linear(attention / "k_proj", kv_width, c.hidden, attention_bias));
  SPINDRIFT_TRY(w.v, nn::load_linear(attention / "v_proj", kv_width, c.hidden, attention_bias));
  SPINDRIFT_TRY(w.o, nn::load_linear(attention / "o_proj", c.hidden, q_width, attention_bias));
  SPINDRIFT_TRY(w.mlp, nn::load_swiglu(scope / "mlp", c.hidden, c.intermediate, mlp_bias));
  attention.ignore("rotary_emb.inv_freq");
  return w;
}

}  // namespace

Result<Weights> load_weights(WeightStore& store, const Config& c) {
  const WeightScope root{&store, ""}, model = root / "model";
  Weights w;
  SPINDRIFT_TRY(w.embed, nn::load_linear(model / "embed_tokens", c.vocab, c.hidden));
  SPINDRIFT_TRY(w.norm, nn::load_rms_norm(model / "norm", c.hidden, c.eps));
  if (c.tied) {
    root.ignore("lm_head.weight");
  } else {
    SPINDRIFT_TRY(w.head, nn::load_linear(root / "lm_head", c.vocab, c.hidden));
  }
  w.layers.reserve(static_cast<size_t>(c.layers));
  for (int64_t i = 0; i < c.layers; ++i) {
    SPINDRIFT_TRY(LayerWeights layer, load_layer(model / "layers" / i, c));
    w.layers.push_back(std::move(layer));
  }
  SPINDRIFT_TRY_STATUS(store.check_all_read());
  return w;
}

}  // namespace spindrift::llama
