#include "drafters/dflash/weights.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace spindrift::dflash {
namespace {

constexpr std::array<std::string_view, 3> kSplitNames = {"q_proj", "k_proj", "v_proj"};

bool has_module(const WeightScope& scope, std::string_view name) {
  return !scope.store->names(scope.name(name) + '.').empty();
}

Error qkv_error(ErrorCode code, const WeightScope& attention, std::string_view found) {
  return Error{code, attention.store->where() + ": tensors `" + attention.name("*") +
                         "`: expected either qkv_proj or all of q_proj, k_proj, v_proj, found " +
                         std::string(found)};
}

// The names present, as "q_proj and v_proj".
std::string list_split(const WeightScope& attention) {
  std::string list;
  for (const std::string_view name : kSplitNames) {
    if (has_module(attention, name)) list += (list.empty() ? "" : " and ") + std::string(name);
  }
  return list;
}

Status load_qkv(const WeightScope& attention, const Config& c, LayerWeights& layer) {
  const std::string split = list_split(attention);
  const int64_t q_out = c.heads * c.head_dim, kv_out = c.kv_heads * c.head_dim;
  if (has_module(attention, "qkv_proj")) {
    if (!split.empty()) return qkv_error(ErrorCode::kInvalid, attention, "qkv_proj and " + split);
    SPINDRIFT_TRY(const auto fused,
                  nn::load_linear(attention / "qkv_proj", q_out + 2 * kv_out, c.hidden));
    layer.q = fused->slice(0, q_out);
    layer.k = fused->slice(q_out, kv_out);
    layer.v = fused->slice(q_out + kv_out, kv_out);
    return ok_status();
  }
  if (split.empty()) return qkv_error(ErrorCode::kNotFound, attention, "none of them");
  for (const std::string_view name : kSplitNames) {
    if (!has_module(attention, name)) {
      return qkv_error(ErrorCode::kInvalid, attention, "only " + split);
    }
  }
  SPINDRIFT_TRY(layer.q, nn::load_linear(attention / "q_proj", q_out, c.hidden));
  SPINDRIFT_TRY(layer.k, nn::load_linear(attention / "k_proj", kv_out, c.hidden));
  SPINDRIFT_TRY(layer.v, nn::load_linear(attention / "v_proj", kv_out, c.hidden));
  return ok_status();
}

Result<LayerWeights> load_layer(const WeightScope& scope, const Config& c) {
  LayerWeights layer;
  const float eps = c.rms_norm_eps;
  const WeightScope attention = scope / "self_attn";
  SPINDRIFT_TRY(layer.input_norm, nn::load_rms_norm(scope / "input_layernorm", c.hidden, eps));
  SPINDRIFT_TRY_STATUS(load_qkv(attention, c, layer));
  SPINDRIFT_TRY(layer.q_norm, nn::load_rms_norm(attention / "q_norm", c.head_dim, eps));
  SPINDRIFT_TRY(layer.k_norm, nn::load_rms_norm(attention / "k_norm", c.head_dim, eps));
  SPINDRIFT_TRY(layer.g, nn::load_linear(attention / "g_proj", c.heads, c.hidden));
  SPINDRIFT_TRY(layer.o, nn::load_linear(attention / "o_proj", c.hidden, c.heads * c.head_dim));
  SPINDRIFT_TRY(layer.post_attention_norm,
                nn::load_rms_norm(scope / "post_attention_layernorm", c.hidden, eps));
  SPINDRIFT_TRY(layer.mlp, nn::load_swiglu(scope / "mlp", c.hidden, c.intermediate));
  // Scales for an 8-bit key cache, which quantised releases carry and this drafter does not keep.
  attention.ignore("k_scale");
  attention.ignore("v_scale");
  return layer;
}

}  // namespace

Result<Weights> load_weights(WeightStore& store, const Config& config) {
  Weights weights;
  const WeightScope scope{&store, store.names("model.").empty() ? "" : "model"};
  const float eps = config.rms_norm_eps;
  for (int i = 0; i < config.taps(); ++i) {
    SPINDRIFT_TRY(auto norm, nn::load_rms_norm(scope / "aux_hidden_norms" / i, config.hidden, eps));
    weights.aux_norms.push_back(std::move(norm));
  }
  SPINDRIFT_TRY(weights.fc,
                nn::load_linear(scope / "fc", config.hidden, config.taps() * config.hidden));
  SPINDRIFT_TRY(weights.hidden_norm, nn::load_rms_norm(scope / "hidden_norm", config.hidden, eps));
  SPINDRIFT_TRY(weights.norm, nn::load_rms_norm(scope / "norm", config.hidden, eps));
  for (int i = 0; i < config.layers; ++i) {
    SPINDRIFT_TRY(auto layer, load_layer(scope / "layers" / i, config));
    weights.layers.push_back(std::move(layer));
  }
  SPINDRIFT_TRY_STATUS(store.check_all_read());
  return weights;
}

}  // namespace spindrift::dflash
