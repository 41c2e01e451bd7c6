#include "app/generation_defaults.h"

#include <algorithm>
#include <limits>

#include "io/json_config.h"

namespace spindrift {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<TokenId>::max();

// eos_token_id is one id or a list of them.
Status add_stop_ids(const JsonObject& json, std::vector<TokenId>& ids) {
  if (json.is_array("eos_token_id")) {
    SPINDRIFT_TRY(const auto list, json.get_ints("eos_token_id", 0, kMaxId));
    for (const int64_t id : list) ids.push_back(static_cast<TokenId>(id));
    return ok_status();
  }
  SPINDRIFT_TRY(const auto one, json.find_int("eos_token_id", 0, kMaxId));
  if (one) ids.push_back(static_cast<TokenId>(*one));
  return ok_status();
}

Status read_sampling(const JsonObject& json, SamplingParams& out) {
  SPINDRIFT_TRY(const auto temperature, json.find_number("temperature", 0, 100));
  SPINDRIFT_TRY(const auto top_k, json.find_int("top_k", -1, std::numeric_limits<int32_t>::max()));
  SPINDRIFT_TRY(const auto top_p, json.find_number("top_p", 0, 1));
  SPINDRIFT_TRY(const auto min_p, json.find_number("min_p", 0, 1));
  SPINDRIFT_TRY(const auto penalty, json.find_number("repetition_penalty", 0, 100));
  SPINDRIFT_TRY(const auto do_sample, json.find_bool("do_sample"));
  if (penalty && *penalty > 0) out.repetition_penalty = static_cast<float>(*penalty);
  // Sampling settings count when the file asks for sampling, or leaves that open beside a
  // temperature.
  if (!do_sample.value_or(temperature.has_value())) return ok_status();
  out.temperature = static_cast<float>(temperature.value_or(1.0));
  if (top_k && *top_k > 0) out.top_k = static_cast<int32_t>(*top_k);
  if (top_p && *top_p > 0) out.top_p = static_cast<float>(*top_p);
  if (min_p) out.min_p = static_cast<float>(*min_p);
  return ok_status();
}

}  // namespace

Result<GenerationDefaults> load_generation_defaults(const std::filesystem::path& folder) {
  GenerationDefaults out;
  SPINDRIFT_TRY(const JsonObject config, JsonObject::parse_file(folder / "config.json"));
  SPINDRIFT_TRY_STATUS(add_stop_ids(config, out.stop_ids));
  SPINDRIFT_TRY(const auto bos, config.find_int("bos_token_id", 0, kMaxId));
  if (bos) out.bos_id = static_cast<TokenId>(*bos);
  const std::filesystem::path file = folder / "generation_config.json";
  std::error_code ignored;
  // A link to nothing is an incomplete download, which reading it tells.
  if (std::filesystem::exists(std::filesystem::symlink_status(file, ignored))) {
    SPINDRIFT_TRY(const JsonObject json, JsonObject::parse_file(file));
    SPINDRIFT_TRY_STATUS(add_stop_ids(json, out.stop_ids));
    SPINDRIFT_TRY_STATUS(read_sampling(json, out.sampling));
    SPINDRIFT_TRY(out.max_new_tokens, json.find_int("max_new_tokens", 1));
    SPINDRIFT_TRY(const auto kwargs, json.find_object("default_chat_template_kwargs"));
    if (kwargs) {
      SPINDRIFT_TRY(out.enable_thinking, kwargs->find_bool("enable_thinking"));
    }
  }
  std::sort(out.stop_ids.begin(), out.stop_ids.end());
  out.stop_ids.erase(std::unique(out.stop_ids.begin(), out.stop_ids.end()), out.stop_ids.end());
  return out;
}

}  // namespace spindrift
