#include "models/gpt_bigcode/config.h"

#include <cmath>
#include <optional>

namespace spindrift::gpt_bigcode {
namespace {

constexpr int64_t kMaxSize = int64_t{1} << 24;
constexpr int64_t kMaxCount = int64_t{1} << 16;

Result<Activation> read_activation(const JsonObject& json) {
  constexpr std::string_view kKey = "activation_function";
  SPINDRIFT_TRY(const auto name, json.find_string(kKey));
  if (!name || *name == "gelu_pytorch_tanh" || *name == "gelu_new") return Activation::kGeluTanh;
  if (*name == "gelu") return Activation::kGelu;
  return json.error(ErrorCode::kUnsupported, kKey, "`gelu` or `gelu_pytorch_tanh`");
}

}  // namespace

Result<Config> read_config(const JsonObject& json) {
  Config c;
  SPINDRIFT_TRY(c.vocab, json.get_int("vocab_size", 1, kMaxSize));
  SPINDRIFT_TRY(c.hidden, json.get_int("n_embd", 1, kMaxSize));
  SPINDRIFT_TRY(c.layers, json.get_int("n_layer", 1, kMaxCount));
  SPINDRIFT_TRY(c.heads, json.get_int("n_head", 1, kMaxCount));
  SPINDRIFT_TRY(c.max_context, json.get_int("n_positions", 1, int64_t{1} << 32));
  SPINDRIFT_TRY(const auto inner, json.find_int("n_inner", 1, kMaxSize));
  SPINDRIFT_TRY(const auto eps, json.find_number("layer_norm_epsilon", 1e-12, 1.0));
  SPINDRIFT_TRY(const auto multi_query, json.find_bool("multi_query"));
  SPINDRIFT_TRY(const auto scaled, json.find_bool("scale_attn_weights"));
  SPINDRIFT_TRY(const auto tied, json.find_bool("tie_word_embeddings"));
  SPINDRIFT_TRY(c.activation, read_activation(json));
  if (!multi_query.value_or(true))
    return json.error(ErrorCode::kUnsupported, "multi_query", "true");
  if (json.has("quantization_config"))
    return json.error(ErrorCode::kUnsupported, "quantization_config", "plain weights");
  if (c.hidden % c.heads != 0)
    return json.error(ErrorCode::kInvalid, "n_embd",
                      "a multiple of n_head = " + std::to_string(c.heads));
  c.inner = inner.value_or(4 * c.hidden);
  c.head_dim = c.hidden / c.heads;
  c.eps = static_cast<float>(eps.value_or(1e-5));
  if (scaled.value_or(true)) c.attention_scale = 1.0F / std::sqrt(static_cast<float>(c.head_dim));
  c.tied = tied.value_or(true);
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
          {"MLP size", std::to_string(c.inner)},
          {"vocabulary", std::to_string(c.vocab)},
          {"context", std::to_string(c.max_context)},
          {"query heads", std::to_string(c.heads)},
          {"key-value heads", "1"},
          {"head size", std::to_string(c.head_dim)},
          {"activation", c.activation == Activation::kGelu ? "gelu" : "gelu_pytorch_tanh"}};
}

}  // namespace spindrift::gpt_bigcode
