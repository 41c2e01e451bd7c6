#include "models/laguna/rope_config.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace spindrift::laguna {
namespace {

constexpr std::string_view kKey = "rope_parameters";
constexpr double kMaxTheta = 1e12;

Result<std::string> rope_type(const JsonObject& entry) {
  SPINDRIFT_TRY(const auto type, entry.find_string("rope_type"));
  if (type) return *type;
  SPINDRIFT_TRY(const auto old_spelling, entry.find_string("type"));
  return old_spelling.value_or("default");
}

Status read_yarn(const JsonObject& entry, const JsonObject& all, const ConfigOptions& options,
                 RopeConfig& rope) {
  for (const std::string_view key : {"mscale", "mscale_all_dim"})
    if (entry.has(key)) return entry.error(ErrorCode::kUnsupported, key, "nothing");
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  const JsonObject& owner = entry.has(kOriginal) ? entry : all;  // or loose beside the entries
  nn::YarnRamp ramp;
  SPINDRIFT_TRY(ramp.original_context, owner.get_number(kOriginal, 1.0, 1e9));
  SPINDRIFT_TRY(ramp.factor, entry.get_number("factor", 1.0, 1e6));
  SPINDRIFT_TRY(const auto beta_fast, entry.find_number("beta_fast", 1e-6, 1e6));
  SPINDRIFT_TRY(const auto beta_slow, entry.find_number("beta_slow", 1e-6, 1e6));
  SPINDRIFT_TRY(const auto truncate, entry.find_bool("truncate"));
  SPINDRIFT_TRY(const auto multiplier, entry.find_number("attention_factor", 1e-3, 1e3));
  ramp.beta_fast = beta_fast.value_or(ramp.beta_fast);
  ramp.beta_slow = beta_slow.value_or(ramp.beta_slow);
  ramp.truncate = truncate.value_or(ramp.truncate);
  const double derived = nn::yarn_derived_multiplier(ramp.factor);
  rope.multiplier = options.derived_rope_multiplier ? derived : multiplier.value_or(derived);
  rope.yarn = ramp;
  return ok_status();
}

// `partial` is the share of a head's features that an entry without its own value rotates.
Result<RopeConfig> read_entry(const JsonObject& entry, const JsonObject& all, double partial,
                              int64_t head_dim, const ConfigOptions& options) {
  RopeConfig rope;
  SPINDRIFT_TRY(rope.theta, entry.get_number("rope_theta", 1.0 + 1e-6, kMaxTheta));
  SPINDRIFT_TRY(const auto own, entry.find_number("partial_rotary_factor", 0.0, 1.0));
  rope.rotated = static_cast<int64_t>(static_cast<double>(head_dim) * own.value_or(partial));
  if (rope.rotated < 2 || rope.rotated % 2 != 0) {
    return entry.error(ErrorCode::kInvalid, "partial_rotary_factor",
                       "a share of head_dim = " + std::to_string(head_dim) +
                           " that is an even number of features, at least 2");
  }
  SPINDRIFT_TRY(const std::string type, rope_type(entry));
  if (type == "yarn") {
    SPINDRIFT_TRY_STATUS(read_yarn(entry, all, options, rope));
  } else if (type != "default") {
    return entry.error(ErrorCode::kUnsupported, "rope_type", "`default` or `yarn`");
  }
  return rope;
}

}  // namespace

Status read_ropes(const JsonObject& json, const ConfigOptions& options, Config& config) {
  SPINDRIFT_TRY(const JsonObject all, json.get_object(kKey));
  const std::vector<std::string> keys = all.keys();
  const bool nested = std::any_of(keys.begin(), keys.end(),
                                  [&](const std::string& key) { return all.is_object(key); });
  if (!nested) {
    SPINDRIFT_TRY(const auto partial, json.find_number("partial_rotary_factor", 0.0, 1.0));
    SPINDRIFT_TRY(config.full_rope,
                  read_entry(all, all, partial.value_or(1.0), config.head_dim, options));
    config.sliding_rope = config.full_rope;
    return ok_status();
  }
  const auto full = [](const LayerConfig& layer) { return !layer.sliding; };
  if (std::any_of(config.layers.begin(), config.layers.end(), full)) {
    SPINDRIFT_TRY(const JsonObject entry, all.get_object("full_attention"));
    SPINDRIFT_TRY(config.full_rope, read_entry(entry, all, 1.0, config.head_dim, options));
  }
  if (config.window > 0) {
    SPINDRIFT_TRY(const JsonObject entry, all.get_object("sliding_attention"));
    SPINDRIFT_TRY(config.sliding_rope, read_entry(entry, all, 1.0, config.head_dim, options));
  }
  return ok_status();
}

}  // namespace spindrift::laguna
