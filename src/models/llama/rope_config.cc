#include "models/llama/rope_config.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>

namespace spindrift::llama {
namespace {

constexpr double kMaxTheta = 1e12;
constexpr double kDefaultTheta = 10000.0;

Result<std::string> type_of(const JsonObject& entry) {
  SPINDRIFT_TRY(const auto type, entry.find_string("rope_type"));
  if (type) return *type;
  SPINDRIFT_TRY(const auto old_spelling, entry.find_string("type"));
  return old_spelling.value_or("default");
}

// Slow features (wavelengths beyond the original context) turn `factor` times slower, fast ones as
// ever, those between by a linear blend. Source: transformers, _compute_llama3_parameters.
Status scale_llama3(const JsonObject& entry, nn::Rope& rope) {
  SPINDRIFT_TRY(const double factor, entry.get_number("factor", 1.0, 1e6));
  SPINDRIFT_TRY(const double low, entry.get_number("low_freq_factor", 1e-6, 1e6));
  SPINDRIFT_TRY(const double high, entry.get_number("high_freq_factor", 1e-6, 1e6));
  SPINDRIFT_TRY(const double original,
                entry.get_number("original_max_position_embeddings", 1.0, 1e9));
  if (high <= low)
    return entry.error(ErrorCode::kInvalid, "high_freq_factor", "more than low_freq_factor");
  for (float& frequency : rope.inv_freq) {
    const double f = frequency;
    const double wavelength = 2.0 * std::numbers::pi / f;
    double scaled = f;
    if (wavelength > original / low) {
      scaled = f / factor;
    } else if (wavelength >= original / high) {
      const double smooth = (original / wavelength - low) / (high - low);
      scaled = (1.0 - smooth) * f / factor + smooth * f;
    }
    frequency = static_cast<float>(scaled);
  }
  return ok_status();
}

}  // namespace

Result<RopeConfig> read_rope(const JsonObject& json, int64_t head_dim) {
  SPINDRIFT_TRY(const auto parameters, json.find_object("rope_parameters"));
  SPINDRIFT_TRY(const auto scaling, json.find_object("rope_scaling"));
  const JsonObject& theta_owner = parameters && parameters->has("rope_theta") ? *parameters : json;
  SPINDRIFT_TRY(const auto theta, theta_owner.find_number("rope_theta", 1.0 + 1e-6, kMaxTheta));
  RopeConfig out{.rope = nn::Rope::plain(theta.value_or(kDefaultTheta), head_dim),
                 .kind = "default"};
  const std::optional<JsonObject>& entry = parameters ? parameters : scaling;
  if (!entry) return out;
  if (entry->has("partial_rotary_factor"))
    return entry->error(ErrorCode::kUnsupported, "partial_rotary_factor", "nothing");
  SPINDRIFT_TRY(out.kind, type_of(*entry));
  if (out.kind == "linear") {
    SPINDRIFT_TRY(const double factor, entry->get_number("factor", 1e-6, 1e6));
    for (float& frequency : out.rope.inv_freq)
      frequency = static_cast<float>(static_cast<double>(frequency) / factor);
  } else if (out.kind == "llama3") {
    SPINDRIFT_TRY_STATUS(scale_llama3(*entry, out.rope));
  } else if (out.kind != "default") {
    return entry->error(ErrorCode::kUnsupported, entry->has("rope_type") ? "rope_type" : "type",
                        "`default`, `linear` or `llama3`");
  }
  return out;
}

}  // namespace spindrift::llama
