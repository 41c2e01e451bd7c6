#include "models/llama/config.h"

#include <cmath>
#include <optional>

#include "models/llama/rope_config.h"

namespace spindrift::llama {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 24;
constexpr int64_t kMaxCount = int64_t{1} << 16;

Status read_sizes(const JsonObject& json, Config& c) {
  SPINDRIFT_TRY(c.vocab, json.get_int("vocab_size", 1, kMaxSize));
  SPINDRIFT_TRY(c.hidden, json.get_int("hidden_size", 1, kMaxSize));
  SPINDRIFT_TRY(c.intermediate, json.get_int("intermediate_size", 1, kMaxSize));
  SPINDRIFT_TRY(c.layers, json.get_int("num_hidden_layers", 1, kMaxCount));
  SPINDRIFT_TRY(c.heads, json.get_int("num_attention_heads", 1, kMaxCount));
  SPINDRIFT_TRY(const auto kv_heads, json.find_int("num_key_value_heads", 1, kMaxCount));
  c.kv_heads = kv_heads.value_or(c.heads);
  if (c.heads % c.kv_heads != 0)
    return json.error(ErrorCode::kInvalid, "num_key_value_heads",
                      "a divisor of num_attention_heads = " + std::to_string(c.heads));
  SPINDRIFT_TRY(const auto head_dim, json.find_int("head_dim", 2, kMaxCount));
  if (!head_dim && c.hidden % c.heads != 0)
    return json.error(ErrorCode::kInvalid, "hidden_size",
                      "a multiple of num_attention_heads = " + std::to_string(c.heads));
  c.head_dim = head_dim.value_or(c.hidden / c.heads);
  if (c.head_dim % 2 != 0)
    return json.error(ErrorCode::kInvalid, "head_dim", "an even number of features");
  SPINDRIFT_TRY(c.max_context, json.get_int("max_position_embeddings", 1, int64_t{1} << 40));
  return ok_status();
}

Status read_switches(const JsonObject& json, Config& c) {
  SPINDRIFT_TRY(const auto eps, json.find_number("rms_norm_eps", 1e-12, 1.0));
  c.eps = static_cast<float>(eps.value_or(1e-6));
  SPINDRIFT_TRY(const auto tied, json.find_bool("tie_word_embeddings"));
  SPINDRIFT_TRY(const auto attention_bias, json.find_bool("attention_bias"));
  SPINDRIFT_TRY(const auto mlp_bias, json.find_bool("mlp_bias"));
  SPINDRIFT_TRY(const auto act, json.find_string("hidden_act"));
  c.tied = tied.value_or(false);
  c.attention_bias = attention_bias.value_or(false);
  c.mlp_bias = mlp_bias.value_or(false);
  if (act.value_or("silu") != "silu")
    return json.error(ErrorCode::kUnsupported, "hidden_act", "`silu`");
  return ok_status();
}

Status read_multipliers(const JsonObject& json, Config& c) {
  const auto read = [&](std::string_view key, float& value) -> Status {
    SPINDRIFT_TRY(const auto given, json.find_number(key, 1e-9, 1e9));
    if (given) value = static_cast<float>(*given);
    return ok_status();
  };
  SPINDRIFT_TRY_STATUS(read("embedding_multiplier", c.embedding_multiplier));
  SPINDRIFT_TRY_STATUS(read("residual_multiplier", c.residual_multiplier));
  SPINDRIFT_TRY_STATUS(read("logits_scaling", c.logits_scaling));
  c.attention_scale = 1.0F;  // instead of the usual 1 / sqrt(head_dim)
  return read("attention_multiplier", c.attention_scale);
}

}  // namespace

Result<Config> read_config(const JsonObject& json) {
  Config c;
  c.file = json.file();
  SPINDRIFT_TRY_STATUS(read_sizes(json, c));
  SPINDRIFT_TRY_STATUS(read_switches(json, c));
  c.attention_scale = 1.0F / std::sqrt(static_cast<float>(c.head_dim));
  SPINDRIFT_TRY(const std::string type, json.get_string("model_type"));
  if (type == "granite") SPINDRIFT_TRY_STATUS(read_multipliers(json, c));
  if (json.has("quantization_config"))
    return json.error(ErrorCode::kUnsupported, "quantization_config", "plain weights");
  SPINDRIFT_TRY(const RopeConfig rope, read_rope(json, c.head_dim));
  c.rope = rope.rope;
  c.rope_kind = rope.kind;
  return c;
}

ModelInfo info_of(const Config& c) {
  return {.vocab = c.vocab,
          .hidden = c.hidden,
          .layers = static_cast<int>(c.layers),
          .max_context = c.max_context};
}

ConfigSummary summarise(const Config& c) {
  return {{"layers", std::to_string(c.layers)},
          {"hidden size", std::to_string(c.hidden)},
          {"MLP size", std::to_string(c.intermediate)},
          {"vocabulary", std::to_string(c.vocab)},
          {"context", std::to_string(c.max_context)},
          {"query heads", std::to_string(c.heads)},
          {"key-value heads", std::to_string(c.kv_heads)},
          {"head size", std::to_string(c.head_dim)},
          {"rope", c.rope_kind}};
}

}  // namespace spindrift::llama
