#include "models/laguna/config.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "models/laguna/rope_config.h"

namespace spindrift::laguna {
namespace {

// Far above every published model; they keep sizes and their products inside int64 and angles
// inside the range that rope computes exactly.
constexpr int64_t kMaxSize = int64_t{1} << 22;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxExperts = 1 << 14;
constexpr Position kMaxContext = Position{1} << 21;

Status refuse_true(const JsonObject& json, std::string_view key) {
  SPINDRIFT_TRY(const std::optional<bool> value, json.find_bool(key));
  if (value.value_or(false)) return json.error(ErrorCode::kUnsupported, key, "false");
  return ok_status();
}

Status refuse_unsupported(const JsonObject& json) {
  for (const std::string_view key :
       {"moe_apply_router_weight_on_input", "attention_bias", "use_bidirectional_attention"})
    SPINDRIFT_TRY_STATUS(refuse_true(json, key));
  SPINDRIFT_TRY(const auto activation, json.find_string("hidden_act"));
  if (activation && *activation != "silu")
    return json.error(ErrorCode::kUnsupported, "hidden_act", "`silu`");
  return ok_status();
}

// One entry of the list for each layer, or nullopt when the key is absent.
template <class T>
Result<std::optional<std::vector<T>>> one_a_layer(const JsonObject& json, std::string_view key,
                                                  Result<std::optional<std::vector<T>>> list,
                                                  size_t layers) {
  if (list.ok() && list.value() && list.value()->size() != layers) {
    return json.error(ErrorCode::kInvalid, key,
                      "a list of num_hidden_layers = " + std::to_string(layers) + " entries");
  }
  return list;
}

// The same for a list whose entries are one of two words; true = the second.
Result<std::optional<std::vector<bool>>> words_a_layer(const JsonObject& json, std::string_view key,
                                                       size_t layers, std::string_view no,
                                                       std::string_view yes) {
  SPINDRIFT_TRY(const auto words, one_a_layer(json, key, json.find_strings(key), layers));
  if (!words) return std::optional<std::vector<bool>>();
  std::vector<bool> flags;
  for (const std::string& word : *words) {
    if (word != no && word != yes) {
      return json.error(ErrorCode::kInvalid, key,
                        "entries `" + std::string(no) + "` or `" + std::string(yes) + "`");
    }
    flags.push_back(word == yes);
  }
  return std::optional(std::move(flags));
}

Status read_heads(const JsonObject& json, Config& config) {
  constexpr std::string_view kList = "num_attention_heads_per_layer";
  SPINDRIFT_TRY(config.kv_heads, json.get_int("num_key_value_heads", 1, kMaxSize));
  SPINDRIFT_TRY(const int64_t heads, json.get_int("num_attention_heads", 1, kMaxSize));
  SPINDRIFT_TRY(const auto list,
                one_a_layer(json, kList, json.find_ints(kList, 1, kMaxSize), config.layers.size()));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].heads = list ? (*list)[i] : heads;
    if (config.layers[i].heads % config.kv_heads != 0) {
      return json.error(ErrorCode::kInvalid, list ? kList : "num_attention_heads",
                        "multiples of num_key_value_heads = " + std::to_string(config.kv_heads));
    }
  }
  SPINDRIFT_TRY(const auto head_dim, json.find_int("head_dim", 2, 4096));
  config.head_dim = head_dim.value_or(config.hidden / heads);
  if (config.head_dim < 2 || config.head_dim % 2 != 0)
    return json.error(ErrorCode::kInvalid, "head_dim", "an even number of at least 2");
  return ok_status();
}

Status read_windows(const JsonObject& json, Config& config) {
  SPINDRIFT_TRY(const auto sliding, words_a_layer(json, "layer_types", config.layers.size(),
                                                  "full_attention", "sliding_attention"));
  if (!sliding) return ok_status();
  bool any = false;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].sliding = (*sliding)[i];
    any = any || (*sliding)[i];
  }
  if (any) {
    SPINDRIFT_TRY(config.window, json.get_int("sliding_window", 1, kMaxContext));
  }
  SPINDRIFT_TRY(const auto sinks, json.find_bool("swa_attention_sink_enabled"));
  config.sinks = any && sinks.value_or(false);
  return ok_status();
}

Status read_layer_kinds(const JsonObject& json, Config& config,
                        std::vector<std::string>& warnings) {
  SPINDRIFT_TRY(const auto kinds,
                words_a_layer(json, "mlp_layer_types", config.layers.size(), "dense", "sparse"));
  const auto last = static_cast<int64_t>(config.layers.size()) - 1;
  SPINDRIFT_TRY(const auto dense, json.find_ints("mlp_only_layers", 0, last));
  SPINDRIFT_TRY(const auto step, json.find_int("decoder_sparse_step", 1, kMaxLayers));
  for (int64_t i = 0; i <= last; ++i) {
    // Without any of the keys the first layer alone is dense.
    const bool listed = dense ? std::find(dense->begin(), dense->end(), i) != dense->end() : i == 0;
    const bool by_list = !listed && (i + 1) % step.value_or(1) == 0;
    const bool sparse = kinds ? (*kinds)[static_cast<size_t>(i)] : by_list;
    config.layers[static_cast<size_t>(i)].sparse = sparse;
    if (kinds && dense && sparse != by_list && warnings.empty()) {
      warnings.push_back(json.file() +
                         ": `mlp_layer_types` and `mlp_only_layers` disagree on layer " +
                         std::to_string(i) + "; the first is followed");
    }
  }
  return ok_status();
}

Result<std::optional<Gate>> read_gate_word(const JsonObject& json, std::string_view key,
                                           std::string word) {
  std::replace(word.begin(), word.end(), '_', '-');
  if (word == "per-head") return std::optional(Gate::kPerHead);
  if (word == "per-element") return std::optional(Gate::kPerElement);
  return json.error(ErrorCode::kInvalid, key, "`per-head` or `per-element`");
}

Status read_gates(const JsonObject& json, Config& config) {
  std::optional<Gate> gate;  // `true` leaves the kind to the weights
  if (json.is_bool("gating")) {
    SPINDRIFT_TRY(const bool on, json.get_bool("gating"));
    if (!on) {
      return json.error(ErrorCode::kUnsupported, "gating", "true, `per-head` or `per-element`");
    }
  } else {
    SPINDRIFT_TRY(const auto word, json.find_string("gating"));
    if (word) {
      SPINDRIFT_TRY(gate, read_gate_word(json, "gating", *word));
    }
  }
  SPINDRIFT_TRY(
      const auto kinds,
      one_a_layer(json, "gating_types", json.find_strings("gating_types"), config.layers.size()));
  for (size_t i = 0; i < config.layers.size(); ++i) {
    config.layers[i].gate = gate;
    if (!kinds) continue;
    SPINDRIFT_TRY(config.layers[i].gate, read_gate_word(json, "gating_types", (*kinds)[i]));
    if (gate && config.layers[i].gate != gate)
      return json.error(ErrorCode::kInvalid, "gating_types", "what `gating` says for every layer");
  }
  return ok_status();
}

Status read_score_function(const JsonObject& json, nn::RouterRule& router) {
  using kernels::ScoreFunc;
  SPINDRIFT_TRY(const auto name, json.find_string("moe_router_score_func"));
  SPINDRIFT_TRY(const auto sigmoid, json.find_bool("moe_router_use_sigmoid"));
  if (!name) {
    router.score = sigmoid.value_or(true) ? ScoreFunc::kSigmoid : ScoreFunc::kSoftmax;
    return ok_status();
  }
  if (*name == "sigmoid") {
    router.score = ScoreFunc::kSigmoid;
  } else if (*name == "sqrtsoftplus") {
    router.score = ScoreFunc::kSqrtSoftplus;
  } else if (*name == "softmax") {
    router.score = ScoreFunc::kSoftmax;
  } else {
    return json.error(ErrorCode::kUnsupported, "moe_router_score_func",
                      "`sigmoid`, `sqrtsoftplus` or `softmax`");
  }
  return ok_status();
}

Status read_experts(const JsonObject& json, Config& config) {
  const auto dense = [](const LayerConfig& layer) { return !layer.sparse; };
  if (std::any_of(config.layers.begin(), config.layers.end(), dense)) {
    SPINDRIFT_TRY(config.intermediate, json.get_int("intermediate_size", 1, kMaxSize));
  }
  if (std::all_of(config.layers.begin(), config.layers.end(), dense)) return ok_status();
  SPINDRIFT_TRY(config.experts, json.get_int("num_experts", 1, kMaxExperts));
  SPINDRIFT_TRY(config.router.top_k, json.get_int("num_experts_per_tok", 1, config.experts));
  SPINDRIFT_TRY(config.expert_inner, json.get_int("moe_intermediate_size", 1, kMaxSize));
  SPINDRIFT_TRY(const auto shared, json.find_int("shared_expert_intermediate_size", 0, kMaxSize));
  config.shared_inner = shared.value_or(config.expert_inner);
  SPINDRIFT_TRY(const auto scale, json.find_number("moe_routed_scaling_factor", 0.0, 1e6));
  SPINDRIFT_TRY(const auto softcap, json.find_number("moe_router_logit_softcapping", 0.0, 1e6));
  SPINDRIFT_TRY(const auto renormalize, json.find_bool("norm_topk_prob"));
  config.router.routed_scale = static_cast<float>(scale.value_or(1.0));
  config.router.softcap = static_cast<float>(softcap.value_or(0.0));
  config.router.renormalize = renormalize.value_or(true);
  return read_score_function(json, config.router);
}

Status read_quantization(const JsonObject& json, Config& config,
                         std::vector<std::string>& warnings) {
  SPINDRIFT_TRY(config.claims, nn::QuantizationClaims::read(json, warnings));
  SPINDRIFT_TRY(const auto quantization, json.find_object("quantization_config"));
  if (!quantization) return ok_status();
  SPINDRIFT_TRY(const auto transforms, quantization->find_object("transform_config"));
  if (transforms) {
    SPINDRIFT_TRY(const auto applied, transforms->find_object("config_groups"));
    config.rotated_residual = applied && !applied->keys().empty();
  }
  return ok_status();
}

}  // namespace

nn::Rope RopeConfig::make() const {
  return yarn ? nn::Rope::yarn(theta, rotated, *yarn, multiplier) : nn::Rope::plain(theta, rotated);
}

Result<Config> read_config(const JsonObject& json, const ConfigOptions& options,
                           std::vector<std::string>& warnings) {
  Config config;
  config.file = json.file();
  SPINDRIFT_TRY_STATUS(refuse_unsupported(json));
  SPINDRIFT_TRY(config.vocab, json.get_int("vocab_size", 1, kMaxSize));
  SPINDRIFT_TRY(config.hidden, json.get_int("hidden_size", 1, kMaxSize));
  SPINDRIFT_TRY(config.max_context, json.get_int("max_position_embeddings", 1, kMaxContext));
  SPINDRIFT_TRY(const double eps, json.get_number("rms_norm_eps", 0.0, 1.0));
  SPINDRIFT_TRY(const auto tied, json.find_bool("tie_word_embeddings"));
  SPINDRIFT_TRY(const int64_t layers, json.get_int("num_hidden_layers", 1, kMaxLayers));
  config.eps = static_cast<float>(eps);
  config.tied = tied.value_or(false);
  config.layers.resize(static_cast<size_t>(layers));
  SPINDRIFT_TRY_STATUS(read_heads(json, config));
  SPINDRIFT_TRY_STATUS(read_windows(json, config));
  SPINDRIFT_TRY_STATUS(read_layer_kinds(json, config, warnings));
  SPINDRIFT_TRY_STATUS(read_gates(json, config));
  SPINDRIFT_TRY_STATUS(read_experts(json, config));
  SPINDRIFT_TRY_STATUS(read_ropes(json, options, config));
  SPINDRIFT_TRY_STATUS(read_quantization(json, config, warnings));
  return config;
}

}  // namespace spindrift::laguna
