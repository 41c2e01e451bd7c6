#include "models/llama/load.h"

#include <array>
#include <utility>

#include "models/llama/config.h"
#include "models/llama/model.h"
#include "models/llama/weights.h"
#include "models/module_groups.h"

namespace spindrift::llama {
namespace {

enum Module : size_t { kEmbedding, kAttention, kMlp, kNorms, kHead, kUnused, kUnknown };
constexpr std::array<std::string_view, 7> kModuleNames = {
    "embedding", "attention", "dense MLP", "norms", "head", "not used", "unknown"};

// The module that a published tensor name belongs to.
size_t module_of(std::string_view name) {
  if (name.ends_with(".inv_freq")) return kUnused;
  std::string_view rest = name;
  const std::string_view root = next_part(rest);
  if (root == "lm_head") return kHead;
  if (root != "model") return kUnknown;
  const std::string_view part = next_part(rest);
  if (part == "embed_tokens") return kEmbedding;
  if (part == "norm") return kNorms;
  if (part != "layers" || !is_number(next_part(rest))) return kUnknown;
  const std::string_view block = next_part(rest);
  if (block == "self_attn") return kAttention;
  if (block == "mlp") return kMlp;
  return block == "input_layernorm" || block == "post_attention_layernorm" ? kNorms : kUnknown;
}

int64_t read_for_a_token(size_t module, int64_t bytes, const Config& config) {
  if (module == kEmbedding) return config.tied ? bytes : bytes / config.vocab;
  const bool unused = module == kUnused || module == kUnknown || (module == kHead && config.tied);
  return unused ? 0 : bytes;
}

std::vector<WeightScope> linear_layers(WeightStore& store, const Config& config) {
  const WeightScope root{&store, ""}, model = root / "model";
  std::vector<WeightScope> layers = {model / "embed_tokens"};
  for (int64_t i = 0; i < config.layers; ++i) {
    const WeightScope layer = model / "layers" / i;
    for (const std::string_view leaf : {"q_proj", "k_proj", "v_proj", "o_proj"})
      layers.push_back(layer / "self_attn" / leaf);
    for (const std::string_view leaf : {"gate_proj", "up_proj", "down_proj"})
      layers.push_back(layer / "mlp" / leaf);
  }
  if (!config.tied) layers.push_back(root / "lm_head");
  return layers;
}

}  // namespace

Result<LoadedTarget> load(const std::filesystem::path& folder, const JsonObject& json,
                          const TargetOptions& options) {
  LoadedTarget target;
  SPINDRIFT_TRY(target.family, json.get_string("model_type"));
  SPINDRIFT_TRY(Config config, read_config(json));
  SPINDRIFT_TRY(target.store, open_weights(folder));
  SPINDRIFT_TRY(Weights weights, load_weights(*target.store, config));
  target.summary = summarise(config);
  target.model = std::make_unique<Model>(std::move(config), std::move(weights), options.kv_dtype);
  return target;
}

Result<TargetDescription> describe(const std::filesystem::path& folder, const JsonObject& json) {
  TargetDescription description;
  SPINDRIFT_TRY(description.family, json.get_string("model_type"));
  SPINDRIFT_TRY(const Config config, read_config(json));
  SPINDRIFT_TRY(description.store, open_weights(folder));
  description.info = info_of(config);
  description.summary = summarise(config);
  group_tensors(
      {.names = kModuleNames,
       .unknown = kUnknown,
       .module_of = module_of,
       .read_for_a_token = [&](size_t module,
                               int64_t bytes) { return read_for_a_token(module, bytes, config); }},
      description);
  find_missing(linear_layers(*description.store, config), description);
  return description;
}

}  // namespace spindrift::llama
