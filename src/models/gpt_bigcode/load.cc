#include "models/gpt_bigcode/load.h"

#include <array>
#include <utility>

#include "models/gpt_bigcode/config.h"
#include "models/gpt_bigcode/model.h"
#include "models/gpt_bigcode/weights.h"
#include "models/module_groups.h"

namespace spindrift::gpt_bigcode {
namespace {

enum Module : size_t { kEmbedding, kPositions, kAttention, kMlp, kNorms, kHead, kUnused, kUnknown };
constexpr std::array<std::string_view, 8> kModuleNames = {
    "embedding", "positions", "attention", "dense MLP", "norms", "head", "not used", "unknown"};

// The module that a published tensor name belongs to.
size_t module_of(std::string_view name) {
  std::string_view rest = name;
  const std::string_view root = next_part(rest);
  if (root == "lm_head") return kHead;
  if (root != "transformer") return kUnknown;
  const std::string_view part = next_part(rest);
  if (part == "wte") return kEmbedding;
  if (part == "wpe") return kPositions;
  if (part == "ln_f") return kNorms;
  if (part != "h" || !is_number(next_part(rest))) return kUnknown;
  const std::string_view block = next_part(rest);
  if (block == "attn") return rest == "bias" || rest == "masked_bias" ? kUnused : kAttention;
  if (block == "mlp") return kMlp;
  return block == "ln_1" || block == "ln_2" ? kNorms : kUnknown;
}

int64_t read_for_a_token(size_t module, int64_t bytes, const Config& config) {
  if (module == kEmbedding) return config.tied ? bytes : bytes / config.vocab;
  if (module == kPositions) return bytes / config.max_context;
  const bool unused = module == kUnused || module == kUnknown || (module == kHead && config.tied);
  return unused ? 0 : bytes;
}

std::vector<WeightScope> linear_layers(WeightStore& store, const Config& config) {
  const WeightScope root{&store, ""}, model = root / "transformer";
  std::vector<WeightScope> layers = {model / "wte", model / "wpe"};
  for (int64_t i = 0; i < config.layers; ++i) {
    const WeightScope layer = model / "h" / i;
    for (const std::string_view leaf : {"c_attn", "c_proj"})
      layers.push_back(layer / "attn" / leaf);
    for (const std::string_view leaf : {"c_fc", "c_proj"}) layers.push_back(layer / "mlp" / leaf);
  }
  if (!config.tied) layers.push_back(root / "lm_head");
  return layers;
}

}  // namespace

Result<LoadedTarget> load(const std::filesystem::path& folder, const JsonObject& json,
                          const TargetOptions& options) {
  LoadedTarget target;
  target.family = "gpt_bigcode";
  SPINDRIFT_TRY(Config config, read_config(json));
  SPINDRIFT_TRY(target.store, open_weights(folder));
  SPINDRIFT_TRY(Weights weights, load_weights(*target.store, config));
  target.summary = summarise(config);
  target.model = std::make_unique<Model>(std::move(config), std::move(weights), options.kv_dtype);
  return target;
}

Result<TargetDescription> describe(const std::filesystem::path& folder, const JsonObject& json) {
  TargetDescription description;
  description.family = "gpt_bigcode";
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

}  // namespace spindrift::gpt_bigcode
