#include "models/laguna/weights.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "models/laguna/mlp_weights.h"
#include "models/laguna/names.h"

namespace spindrift::laguna {
namespace {

// The gate's rows tell whether it is one a head or one a feature; the config may only agree.
Status load_gate(const WeightScope& attention, const Config& config, const LayerConfig& layer,
                 LayerWeights& weights) {
  const WeightScope scope = attention / "g_proj";
  const int64_t per_head = layer.heads, per_element = layer.heads * config.head_dim;
  const int64_t claimed = layer.gate == Gate::kPerElement ? per_element : per_head;
  const int64_t rows = nn::stored_rows(scope).value_or(claimed);
  const bool known = rows == per_head || rows == per_element;
  if (!known || (layer.gate && rows != claimed)) {
    const std::string expected =
        layer.gate ? std::to_string(claimed) + " rows, as `gating` in " + config.file + " says"
                   : std::to_string(per_head) + " rows (per head) or " +
                         std::to_string(per_element) + " (per element)";
    return Error{ErrorCode::kInvalid, scope.store->where() + ": layer `" + scope.prefix +
                                          "`: expected " + expected + ", found " +
                                          std::to_string(rows)};
  }
  SPINDRIFT_TRY(weights.g, nn::load_linear(scope, rows, config.hidden));
  return ok_status();
}

Status load_attention(const WeightScope& scope, const Config& config, const LayerConfig& layer,
                      LayerWeights& weights) {
  const int64_t q_width = layer.heads * config.head_dim;
  const int64_t kv_width = config.kv_heads * config.head_dim;
  SPINDRIFT_TRY(weights.q, nn::load_linear(scope / "q_proj", q_width, config.hidden));
  SPINDRIFT_TRY(weights.k, nn::load_linear(scope / "k_proj", kv_width, config.hidden));
  SPINDRIFT_TRY(weights.v, nn::load_linear(scope / "v_proj", kv_width, config.hidden));
  SPINDRIFT_TRY(weights.o, nn::load_linear(scope / "o_proj", config.hidden, q_width));
  SPINDRIFT_TRY(weights.q_norm, nn::load_rms_norm(scope / "q_norm", config.head_dim, config.eps));
  SPINDRIFT_TRY(weights.k_norm, nn::load_rms_norm(scope / "k_norm", config.head_dim, config.eps));
  if (config.sinks && layer.sliding) {
    SPINDRIFT_TRY(weights.sinks, nn::load_vector(scope, "sink", layer.heads));
  }
  return load_gate(scope, config, layer, weights);
}

Result<LayerWeights> load_layer(const WeightScope& scope, const Config& config,
                                const LayerConfig& layer) {
  LayerWeights weights;
  SPINDRIFT_TRY(weights.input_norm,
                nn::load_rms_norm(scope / "input_layernorm", config.hidden, config.eps));
  SPINDRIFT_TRY(weights.post_norm,
                nn::load_rms_norm(scope / "post_attention_layernorm", config.hidden, config.eps));
  SPINDRIFT_TRY_STATUS(load_attention(scope / "self_attn", config, layer, weights));
  if (layer.sparse) {
    SPINDRIFT_TRY(weights.mlp, load_mixture(scope / "mlp", config));
  } else {
    SPINDRIFT_TRY(weights.mlp, load_mlp(scope / "mlp", config.hidden, config.intermediate));
  }
  return weights;
}

// quantization_config's name of a stored format; empty for plain weights, and for those of MLX,
// whose config has no such names.
std::string_view published_name(std::string_view format) {
  if (format == "nvfp4") return "nvfp4-pack-quantized";
  if (format == "fp8") return "float-quantized";
  return format == "int4" || format == "int8" ? "pack-quantized" : "";
}

void cross_check_formats(const Weights& weights, const Config& config,
                         std::vector<std::string>& warnings) {
  std::set<std::string_view> found;
  const auto add = [&](const nn::Linear& linear) { found.insert(published_name(linear.format())); };
  const auto add_mlp = [&](const nn::SwiGlu& mlp) {
    for (const auto* part : {&mlp.gate, &mlp.up, &mlp.down}) add(**part);
  };
  for (const LayerWeights& layer : weights.layers) {
    for (const auto* part : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.g}) add(**part);
    if (const auto* dense = std::get_if<nn::SwiGlu>(&layer.mlp)) add_mlp(*dense);
    if (const auto* moe = std::get_if<nn::Moe>(&layer.mlp)) {
      for (const nn::SwiGlu& expert : moe->experts) add_mlp(expert);
      if (moe->shared) add_mlp(*moe->shared);
    }
  }
  for (const std::string& declared : config.declared_formats) {
    if (!found.contains(declared)) {
      warnings.push_back(config.file + ": `quantization_config` declares " + declared +
                         ", but no tensor is stored so; the tensors are followed");
    }
  }
  for (const std::string_view format : found) {
    const auto& declared = config.declared_formats;
    if (!format.empty() && std::find(declared.begin(), declared.end(), format) == declared.end()) {
      warnings.push_back(
          config.file + ": tensors are stored as " + std::string(format) +
          ", which `quantization_config` does not declare; the tensors are followed");
    }
  }
}

}  // namespace

Result<Weights> load_weights(WeightStore& store, const Config& config,
                             std::vector<std::string>& warnings) {
  const Names names(store);
  Weights weights;
  SPINDRIFT_TRY(weights.embed, nn::load_linear(names.embed(), config.vocab, config.hidden));
  SPINDRIFT_TRY(weights.norm, nn::load_rms_norm(names.final_norm(), config.hidden, config.eps));
  if (!config.tied) {
    SPINDRIFT_TRY(weights.head, nn::load_linear(names.head(), config.vocab, config.hidden));
  }
  weights.layers.reserve(config.layers.size());
  for (size_t i = 0; i < config.layers.size(); ++i) {
    SPINDRIFT_TRY(LayerWeights layer,
                  load_layer(names.layer(static_cast<int64_t>(i)), config, config.layers[i]));
    weights.layers.push_back(std::move(layer));
  }
  ignore_unused(names, config);
  SPINDRIFT_TRY_STATUS(store.check_all_read());
  cross_check_formats(weights, config, warnings);
  return weights;
}

}  // namespace spindrift::laguna
