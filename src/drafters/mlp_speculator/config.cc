#include "drafters/mlp_speculator/config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace spindrift::mlp_speculator {
namespace {

// Bounds that keep every later product of sizes far from overflow and every allocation in reason.
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxVocab = int64_t{1} << 24;

constexpr std::string_view kModelType = "mlp_speculator";
constexpr std::array<std::string_view, 2> kHeads = {"MLPSpeculatorPreTrainedModel",
                                                    "ArcticMLPSpeculatorPreTrainedModel"};
// MLPVariantSpeculator is an LSTM in spite of its name.
constexpr std::array<std::string_view, 3> kLstmHeads = {"ArcticLSTMSpeculatorPreTrainedModel",
                                                        "LSTMSpeculatorPreTrainedModel",
                                                        "MLPVariantSpeculatorPreTrainedModel"};
constexpr std::string_view kTopK = "top_k_tokens_per_head";
constexpr std::string_view kTopKMisspelt = "top_k_tokesns_per_head";  // as Arctic's heads have it

// A target's class as Transformers names it, by our family's name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTargetClasses = {{
    {"gpt_bigcode", "GPTBigCodeForCausalLM"},
    {"granite", "GraniteForCausalLM"},
    {"laguna", "LagunaForCausalLM"},
    {"llama", "LlamaForCausalLM"},
}};

// `architectures`, which Arctic's heads write as a plain string; empty when it is neither.
std::vector<std::string> architectures(const JsonObject& json) {
  if (json.is_string("architectures")) return {json.get_string("architectures").value()};
  const auto names = json.find_strings("architectures");
  if (!names.ok() || !names.value().has_value()) return {};
  return *names.value();
}

template <size_t N>
bool any_of(const std::vector<std::string>& names, const std::array<std::string_view, N>& known) {
  return std::find_first_of(names.begin(), names.end(), known.begin(), known.end()) != names.end();
}

bool is_model_type(const JsonObject& json) {
  return json.is_string("model_type") && json.get_string("model_type").value() == kModelType;
}

Status check_architecture(const JsonObject& json) {
  const std::vector<std::string> names = architectures(json);
  const std::string known = std::string(kHeads[0]) + " or " + std::string(kHeads[1]);
  const auto no_lstm = [&](std::string_view key, const std::string& expected) {
    return json.error(ErrorCode::kUnsupported, key, expected + " (not an LSTM head)");
  };
  if (any_of(names, kLstmHeads)) return no_lstm("architectures", known);
  // The relative writes sizes as strings of numbers and has gates.
  for (const std::string_view key : {"emb_dim", "inner_dim", "proj_dim"}) {
    if (json.is_string(key)) return no_lstm(key, "a number");
  }
  for (const std::string_view key : {"input_hidden_dim", "tie_lstm_embs"}) {
    if (json.has(key)) return no_lstm(key, "nothing");
  }
  if (!names.empty() && !any_of(names, kHeads)) {
    return json.error(ErrorCode::kUnsupported, "architectures", known);
  }
  if (names.empty() && json.has("architectures")) {
    return json.error(ErrorCode::kInvalid, "architectures", "a name or a list of names");
  }
  return ok_status();
}

// The value of a key that has a second name; where both are present they must agree.
Result<int64_t> get_hidden(const JsonObject& json, int64_t fallback) {
  SPINDRIFT_TRY(const std::optional<int64_t> own, json.find_int("emb_dim", 1, kMaxWidth));
  SPINDRIFT_TRY(const std::optional<int64_t> alias, json.find_int("hidden_size", 1, kMaxWidth));
  if (own && alias && *own != *alias) {
    return json.error(ErrorCode::kInvalid, "hidden_size",
                      "the value of `emb_dim` " + std::to_string(*own));
  }
  return own ? *own : alias.value_or(fallback);
}

// The leaves that top_k spreads to; nullopt beyond kMaxLeaves.
std::optional<int64_t> leaves(const std::vector<int>& top_k) {
  int64_t product = 1;
  for (const int k : top_k) {
    product *= k;
    if (product > kMaxLeaves) return std::nullopt;
  }
  return product;
}

const std::string& leaf_limit() {
  static const std::string text = "a product of at most " + std::to_string(kMaxLeaves);
  return text;
}

Status parse_top_k(const JsonObject& json, Config& c) {
  const std::string_view key = json.has(kTopK) ? kTopK : kTopKMisspelt;
  if (json.has(kTopK) && json.has(kTopKMisspelt)) {
    return json.error(ErrorCode::kInvalid, kTopKMisspelt,
                      "nothing beside `" + std::string(kTopK) + '`');
  }
  if (json.has(key)) {
    const int64_t most = std::min(c.vocab, kMaxLeaves);
    SPINDRIFT_TRY(const std::vector<int64_t> values, json.get_ints(key, 1, most));
    c.top_k.assign(values.begin(), values.end());
  }
  if (std::ssize(c.top_k) != c.stages) {
    return json.error(ErrorCode::kInvalid, json.has(key) ? key : kTopK,
                      "`n_predict` = " + std::to_string(c.stages) + " numbers");
  }
  if (!leaves(c.top_k)) return json.error(ErrorCode::kUnsupported, key, leaf_limit());
  return ok_status();
}

Status parse_flags(const JsonObject& json, Config& c) {
  SPINDRIFT_TRY(const std::optional<bool> scale, json.find_bool("scale_input"));
  SPINDRIFT_TRY(const std::optional<bool> tied, json.find_bool("tie_weights"));
  c.scale_input = scale.value_or(false);
  c.tied = tied.value_or(false);
  if (c.tied && c.stages == 1) {
    return json.error(ErrorCode::kInvalid, "tie_weights", "false where `n_predict` is 1");
  }
  return ok_status();
}

// "FILE: key `KEY`: expected EXPECTED (the target's), found FOUND".
Error target_mismatch(const Config& c, std::string_view key, const std::string& expected,
                      const std::string& found) {
  return {ErrorCode::kInvalid,
          c.file + ": key `" + std::string(key) + "`: expected " + expected +
              " (the target's), found " + found,
          "pair the head with the base model it was trained for"};
}

}  // namespace

bool recognises(const JsonObject& json) {
  const std::vector<std::string> names = architectures(json);
  return is_model_type(json) || any_of(names, kHeads) || any_of(names, kLstmHeads);
}

Result<Config> parse_config(const JsonObject& json) {
  SPINDRIFT_TRY_STATUS(check_architecture(json));
  Config c;
  c.file = json.file();
  SPINDRIFT_TRY(c.hidden, get_hidden(json, c.hidden));
  SPINDRIFT_TRY(const std::optional<int64_t> inner, json.find_int("inner_dim", 0, kMaxWidth));
  c.inner = inner.value_or(0) == 0 ? c.hidden : *inner;
  SPINDRIFT_TRY(const std::optional<int64_t> vocab, json.find_int("vocab_size", 1, kMaxVocab));
  c.vocab = vocab.value_or(c.vocab);
  SPINDRIFT_TRY(const std::optional<int64_t> stages, json.find_int("n_predict", 1, kMaxStages));
  c.stages = static_cast<int>(stages.value_or(c.stages));
  SPINDRIFT_TRY_STATUS(parse_top_k(json, c));
  SPINDRIFT_TRY(const std::optional<int64_t> kept, json.find_int("n_candidates", 1, kMaxLeaves));
  c.candidates = static_cast<int>(kept.value_or(c.candidates));
  SPINDRIFT_TRY_STATUS(parse_flags(json, c));
  SPINDRIFT_TRY(auto archs, json.find_strings("base_model_archs"));
  if (archs.has_value()) c.base_model_archs = *std::move(archs);
  return c;
}

Status check_pairing(const Config& config, const TargetFacts& target) {
  if (config.hidden != target.info.hidden) {
    return target_mismatch(config, "emb_dim", std::to_string(target.info.hidden),
                           std::to_string(config.hidden));
  }
  if (config.vocab != target.info.vocab) {
    return target_mismatch(config, "vocab_size", std::to_string(target.info.vocab),
                           std::to_string(config.vocab));
  }
  const auto& archs = config.base_model_archs;
  if (archs.empty()) return ok_status();
  const auto own = std::find_if(kTargetClasses.begin(), kTargetClasses.end(),
                                [&](const auto& entry) { return entry.first == target.family; });
  const std::string name(own == kTargetClasses.end() ? target.family : own->second);
  if (std::find(archs.begin(), archs.end(), name) != archs.end()) return ok_status();
  std::string list;
  for (const std::string& arch : archs) list += (list.empty() ? "" : ", ") + arch;
  return target_mismatch(config, "base_model_archs", name, list);
}

Status apply_options(const MlpSpeculatorOptions& options, Config& config) {
  if (!options.top_k.empty()) {
    const bool fits = std::ssize(options.top_k) == config.stages &&
                      std::all_of(options.top_k.begin(), options.top_k.end(),
                                  [&](int k) { return k >= 1 && k <= config.vocab; });
    if (!fits || !leaves(options.top_k)) {
      std::string message = "draft top-k: expected ";
      message.append(std::to_string(config.stages))
          .append(" numbers in [1, vocabulary], one a stage, with ")
          .append(leaf_limit())
          .append(", found");
      for (const int k : options.top_k) message.append(" ").append(std::to_string(k));
      return Error{ErrorCode::kUsage, message};
    }
    config.top_k = options.top_k;
  }
  if (options.candidates) {
    if (*options.candidates < 1 || *options.candidates > kMaxLeaves) {
      std::string message = "draft candidates: expected a number in [1, ";
      message.append(std::to_string(kMaxLeaves)).append("], found ");
      message.append(std::to_string(*options.candidates));
      return Error{ErrorCode::kUsage, message};
    }
    config.candidates = *options.candidates;
  }
  return ok_status();
}

}  // namespace spindrift::mlp_speculator
