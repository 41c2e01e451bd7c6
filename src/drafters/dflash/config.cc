#include "drafters/dflash/config.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <optional>
#include <utility>

namespace spindrift::dflash {
namespace {

// Bounds that keep every later product of sizes far from overflow and every allocation in reason.
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxHeads = 4096;
constexpr int64_t kMaxHeadDim = 1024;
constexpr int64_t kMaxLayers = 1024;
constexpr int64_t kMaxVocab = int64_t{1} << 24;
constexpr int64_t kMaxWindow = int64_t{1} << 24;

std::string quoted(std::string_view text) {
  std::string out(1, '"');
  return out.append(text).append(1, '"');
}

bool is_speculators(const JsonObject& json) {
  return json.has("speculators_model_type") || json.has("speculators_config") ||
         json.has("speculators_version");
}

bool names_architecture(const JsonObject& json) {
  const auto names = json.find_strings("architectures");
  return names.ok() && names.value().has_value() &&
         std::find(names.value()->begin(), names.value()->end(), kArchitecture) !=
             names.value()->end();
}

Status check_format(const JsonObject& json) {
  if (is_speculators(json)) {
    return Error{ErrorCode::kUnsupported,
                 json.file() +
                     ": drafter in the \"speculators\" format (own embedding, reduced head with "
                     "d2t and t2d maps): expected architectures [\"" +
                     std::string(kArchitecture) + "\"], found a speculators config",
                 "use a DFlash drafter of the 2.1 series layout"};
  }
  if (!names_architecture(json)) {
    return json.error(ErrorCode::kUnsupported, "architectures", '[' + quoted(kArchitecture) + ']');
  }
  return ok_status();
}

// The value of an optional switch must be what the forward assumes.
Status expect_bool(const JsonObject& json, std::string_view key, bool expected) {
  SPINDRIFT_TRY(const std::optional<bool> value, json.find_bool(key));
  if (value.has_value() && *value != expected) {
    return json.error(ErrorCode::kUnsupported, key, expected ? "true" : "false");
  }
  return ok_status();
}

Status expect_string(const JsonObject& json, std::string_view key, std::string_view expected) {
  SPINDRIFT_TRY(const std::optional<std::string> value, json.find_string(key));
  if (value.has_value() && *value != expected) {
    return json.error(ErrorCode::kUnsupported, key, quoted(expected));
  }
  return ok_status();
}

// An optional list with one entry a layer, all of them `expected`.
Status expect_each_layer(const JsonObject& json, std::string_view key, int layers,
                         int64_t expected) {
  SPINDRIFT_TRY(const std::optional<std::vector<int64_t>> values, json.find_ints(key));
  if (!values.has_value()) return ok_status();
  if (std::ssize(*values) != layers ||
      std::any_of(values->begin(), values->end(), [&](int64_t v) { return v != expected; })) {
    return json.error(ErrorCode::kUnsupported, key,
                      std::to_string(layers) + " times " + std::to_string(expected));
  }
  return ok_status();
}

Status expect_each_layer(const JsonObject& json, std::string_view key, int layers,
                         std::initializer_list<std::string_view> accepted) {
  SPINDRIFT_TRY(const std::vector<std::string> values, json.get_strings(key));
  const bool all = std::all_of(values.begin(), values.end(), [&](const std::string& v) {
    return std::find(accepted.begin(), accepted.end(), v) != accepted.end();
  });
  if (std::ssize(values) != layers || !all) {
    return json.error(ErrorCode::kUnsupported, key,
                      std::to_string(layers) + " times " + quoted(*accepted.begin()));
  }
  return ok_status();
}

Status check_assumptions(const JsonObject& json, const Config& c) {
  SPINDRIFT_TRY(const std::string gating, json.get_string("gating"));
  if (gating != "per-head" && gating != "per_head") {
    return json.error(ErrorCode::kUnsupported, "gating", "\"per-head\"");
  }
  SPINDRIFT_TRY_STATUS(expect_each_layer(json, "layer_types", c.layers, {"sliding_attention"}));
  if (json.has("gating_types")) {
    SPINDRIFT_TRY_STATUS(
        expect_each_layer(json, "gating_types", c.layers, {"per_head", "per-head"}));
  }
  if (json.has("mlp_layer_types")) {
    SPINDRIFT_TRY_STATUS(expect_each_layer(json, "mlp_layer_types", c.layers, {"dense"}));
  }
  SPINDRIFT_TRY_STATUS(expect_each_layer(json, "sliding_windows", c.layers, c.window));
  SPINDRIFT_TRY_STATUS(expect_each_layer(json, "num_attention_heads_per_layer", c.layers, c.heads));
  SPINDRIFT_TRY(const std::optional<int64_t> experts, json.find_int("num_experts"));
  if (experts.value_or(0) != 0) return json.error(ErrorCode::kUnsupported, "num_experts", "0");
  SPINDRIFT_TRY_STATUS(expect_bool(json, "attention_bias", false));
  SPINDRIFT_TRY_STATUS(expect_bool(json, "swa_attention_sink_enabled", false));
  return expect_string(json, "hidden_act", "silu");
}

// RoPE settings of one object, the config itself or an entry of `rope_parameters`: plain, over
// whole heads.
Status check_plain_rope(const JsonObject& rope) {
  SPINDRIFT_TRY_STATUS(expect_string(rope, "rope_type", "default"));
  SPINDRIFT_TRY_STATUS(expect_string(rope, "type", "default"));
  SPINDRIFT_TRY(const std::optional<double> part, rope.find_number("partial_rotary_factor"));
  if (part.value_or(1.0) != 1.0) {
    return rope.error(ErrorCode::kUnsupported, "partial_rotary_factor", "1");
  }
  return ok_status();
}

Result<double> theta_of(const JsonObject& object) {
  return object.get_number("rope_theta", 1.0, 1e12);
}

// Releases write `rope_theta` at the top; newer tools write `rope_parameters`, flat or by layer
// type. Where both are present they must agree.
Result<double> parse_rope_theta(const JsonObject& json) {
  if (json.has("rope_scaling")) {
    return json.error(ErrorCode::kUnsupported, "rope_scaling", "nothing (plain RoPE)");
  }
  if (!json.has("rope_parameters")) {
    SPINDRIFT_TRY_STATUS(check_plain_rope(json));
    return theta_of(json);
  }
  SPINDRIFT_TRY(JsonObject rope, json.get_object("rope_parameters"));
  if (rope.has("sliding_attention")) {
    SPINDRIFT_TRY(JsonObject sliding, rope.get_object("sliding_attention"));
    rope = std::move(sliding);
  }
  SPINDRIFT_TRY_STATUS(check_plain_rope(rope));
  SPINDRIFT_TRY(const double theta, theta_of(rope));
  if (json.has("rope_theta")) {
    SPINDRIFT_TRY(const double top, theta_of(json));
    if (top != theta) {
      return json.error(ErrorCode::kInvalid, "rope_theta",
                        "the value of `rope_parameters`, " + rope.dump("rope_theta"));
    }
  }
  return theta;
}

Status parse_shape(const JsonObject& json, Config& c) {
  SPINDRIFT_TRY(c.hidden, json.get_int("hidden_size", 1, kMaxWidth));
  SPINDRIFT_TRY(c.intermediate, json.get_int("intermediate_size", 1, kMaxWidth));
  SPINDRIFT_TRY(c.heads, json.get_int("num_attention_heads", 1, kMaxHeads));
  SPINDRIFT_TRY(c.kv_heads, json.get_int("num_key_value_heads", 1, kMaxHeads));
  if (c.heads % c.kv_heads != 0) {
    return json.error(ErrorCode::kInvalid, "num_key_value_heads",
                      "a divisor of `num_attention_heads` " + std::to_string(c.heads));
  }
  SPINDRIFT_TRY(c.head_dim, json.get_int("head_dim", 2, kMaxHeadDim));
  if (c.head_dim % 2 != 0) return json.error(ErrorCode::kInvalid, "head_dim", "an even number");
  SPINDRIFT_TRY(const int64_t layers, json.get_int("num_hidden_layers", 1, kMaxLayers));
  c.layers = static_cast<int>(layers);
  SPINDRIFT_TRY(const double eps, json.get_number("rms_norm_eps", 1e-12, 1.0));
  c.rms_norm_eps = static_cast<float>(eps);
  SPINDRIFT_TRY(c.window, json.get_int("sliding_window", 1, kMaxWindow));
  SPINDRIFT_TRY(c.vocab, json.get_int("vocab_size", 1, kMaxVocab));
  SPINDRIFT_TRY(const std::optional<int64_t> draft_vocab, json.find_int("draft_vocab_size"));
  if (draft_vocab.value_or(c.vocab) != c.vocab) {
    return json.error(ErrorCode::kUnsupported, "draft_vocab_size",
                      "`vocab_size` " + std::to_string(c.vocab));
  }
  return ok_status();
}

Status parse_taps(const JsonObject& json, const JsonObject& dflash, Config& c) {
  SPINDRIFT_TRY(const std::vector<int64_t> taps,
                dflash.get_ints("target_layer_ids", 0, c.target_layers - 1));
  if (taps.empty() ||
      std::adjacent_find(taps.begin(), taps.end(), std::greater_equal<>()) != taps.end()) {
    return dflash.error(ErrorCode::kInvalid, "target_layer_ids",
                        "a strictly increasing list of target layers");
  }
  if (std::ssize(taps) != c.layers) {
    return dflash.error(ErrorCode::kUnsupported, "target_layer_ids",
                        "one target layer for each of the drafter's " + std::to_string(c.layers));
  }
  c.target_layer_ids.assign(taps.begin(), taps.end());
  SPINDRIFT_TRY(const std::optional<std::vector<int64_t>> aux,
                json.find_ints("eagle_aux_hidden_state_layer_ids"));
  const auto one_after = [](int64_t tap, int64_t id) { return id == tap + 1; };
  if (aux.has_value() &&
      !std::equal(taps.begin(), taps.end(), aux->begin(), aux->end(), one_after)) {
    return json.error(ErrorCode::kInvalid, "eagle_aux_hidden_state_layer_ids",
                      "`dflash_config.target_layer_ids` " + dflash.dump("target_layer_ids") +
                          " with 1 added to each");
  }
  return ok_status();
}

Status parse_block(const JsonObject& json, Config& c) {
  SPINDRIFT_TRY(const JsonObject dflash, json.get_object("dflash_config"));
  SPINDRIFT_TRY(const int64_t block, dflash.get_int("block_size", kMinBlockSize, kMaxBlockSize));
  c.block_size = static_cast<int>(block);
  SPINDRIFT_TRY(const int64_t mask, dflash.get_int("mask_token_id", 0, c.vocab - 1));
  c.mask_token = static_cast<TokenId>(mask);
  SPINDRIFT_TRY(const bool causal, dflash.get_bool("causal"));
  if (!causal) return dflash.error(ErrorCode::kUnsupported, "causal", "true");
  SPINDRIFT_TRY(const int64_t target_layers, dflash.get_int("num_target_layers", 1, kMaxLayers));
  c.target_layers = static_cast<int>(target_layers);
  return parse_taps(json, dflash, c);
}

// "FILE: key `KEY`: expected EXPECTED (the target's), found FOUND".
Status expect_target(const Config& c, std::string_view key, int64_t found, int64_t expected) {
  if (found == expected) return ok_status();
  return Error{ErrorCode::kInvalid,
               c.file + ": key `" + std::string(key) + "`: expected " + std::to_string(expected) +
                   " (the target's), found " + std::to_string(found),
               "pair the drafter with the target it was trained for"};
}

}  // namespace

bool recognises(const JsonObject& json) { return is_speculators(json) || names_architecture(json); }

Result<Config> parse_config(const JsonObject& json) {
  SPINDRIFT_TRY_STATUS(check_format(json));
  Config c;
  c.file = json.file();
  SPINDRIFT_TRY_STATUS(parse_shape(json, c));
  SPINDRIFT_TRY_STATUS(check_assumptions(json, c));
  SPINDRIFT_TRY(c.rope_theta, parse_rope_theta(json));
  SPINDRIFT_TRY_STATUS(parse_block(json, c));
  return c;
}

Status check_pairing(const Config& config, const TargetFacts& target) {
  if (target.family != kTargetFamily) {
    return Error{ErrorCode::kInvalid,
                 config.file + ": key `architectures`: expected a drafter for " + target.family +
                     " targets, found " + std::string(kArchitecture)};
  }
  SPINDRIFT_TRY_STATUS(expect_target(config, "dflash_config.num_target_layers",
                                     config.target_layers, target.info.layers));
  SPINDRIFT_TRY_STATUS(expect_target(config, "hidden_size", config.hidden, target.info.hidden));
  return expect_target(config, "vocab_size", config.vocab, target.info.vocab);
}

}  // namespace spindrift::dflash
