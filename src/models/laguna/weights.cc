#include "models/laguna/weights.h"

#include <string>
#include <utility>

#include "models/laguna/linear_layers.h"
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
  std::vector<std::string> none;  // what it would name has been refused above
  SPINDRIFT_TRY_STATUS(
      config.claims.compare(linear_layers(names, config, none), names.root.prefix, warnings));
  return weights;
}

}  // namespace spindrift::laguna
