#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/laguna/config.h"
#include "models/laguna/linear_layers.h"
#include "models/laguna/load.h"
#include "models/laguna/names.h"
#include "models/laguna/summary.h"
#include "models/module_groups.h"
#include "nn/float_tensor.h"

namespace spindrift::laguna {
namespace {

enum Module : uint8_t {
  kEmbedding,
  kAttention,
  kRouter,
  kRouted,
  kShared,
  kDense,
  kNorms,
  kHead,
  kUnused,
  kUnknown
};
constexpr std::string_view kModuleNames[] = {
    "embedding", "attention", "router", "routed experts", "shared experts",
    "dense MLP", "norms",     "head",   "not used",       "unknown"};

bool is_projection(std::string_view part) {
  return part == "gate_proj" || part == "up_proj" || part == "down_proj" || part == "gate_up_proj";
}

Module mlp_module(std::string_view rest) {
  const std::string_view part = next_part(rest);
  if (part == "shared_expert" || part == "shared_experts") return kShared;
  if (part == "gate" || part == kSelectionBias || rest == kSelectionBias) return kRouter;
  if (part == "experts" || part == "switch_mlp") {
    const std::string_view inside = next_part(rest);
    const bool single = part == "experts" && is_number(inside);
    return single || is_projection(inside) ? kRouted : kUnknown;
  }
  return is_projection(part) ? kDense : kUnknown;
}

Module attention_module(std::string_view rest) {
  constexpr std::string_view kLayers[] = {"q_proj", "k_proj", "v_proj", "o_proj", "g_proj", "sink"};
  const std::string_view part = next_part(rest);
  if (part == "q_norm" || part == "k_norm") return kNorms;
  return std::find(std::begin(kLayers), std::end(kLayers), part) == std::end(kLayers) ? kUnknown
                                                                                      : kAttention;
}

// The module that a published tensor name, without a prefix, belongs to.
Module module_of(std::string_view name) {
  if (name.ends_with(".k_scale") || name.ends_with(".v_scale") || name.ends_with(".inv_freq"))
    return kUnused;
  std::string_view rest = name;
  const std::string_view root = next_part(rest);
  if (root == "lm_head") return kHead;
  if (root != "model") return kUnknown;
  const std::string_view part = next_part(rest);
  if (part == "embed_tokens") return kEmbedding;
  if (part == "norm") return kNorms;
  if (part != "layers" || !is_number(next_part(rest))) return kUnknown;
  const std::string_view block = next_part(rest);
  if (block == "mlp") return mlp_module(rest);
  if (block == "self_attn") return attention_module(rest);
  return block == "input_layernorm" || block == "post_attention_layernorm" ? kNorms : kUnknown;
}

// Input columns of the linear layer that a tensor, named without a prefix, is part of.
int64_t columns_of(std::string_view name, const Config& config) {
  const std::string_view layer = name.substr(0, name.rfind('.'));
  if (layer.ends_with(".down_proj")) {
    const Module module = module_of(name);
    if (module == kRouted) return config.expert_inner;
    return module == kShared ? config.shared_inner : config.intermediate;
  }
  if (!layer.ends_with(".o_proj")) return config.hidden;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (layer == "model.layers." + std::to_string(i) + ".self_attn.o_proj")
      return config.layers[i].heads * config.head_dim;
  }
  return 0;
}

int64_t read_for_a_token(Module module, int64_t bytes, const Config& config) {
  switch (module) {
    case kEmbedding:
      return config.tied ? bytes : bytes / config.vocab;
    case kRouted:
      return config.experts == 0 ? 0 : bytes * config.router.top_k / config.experts;
    case kUnused:
    case kUnknown:
      return 0;
    default:
      return bytes;
  }
}

}  // namespace

Result<TargetDescription> describe(const std::filesystem::path& folder, const JsonObject& json) {
  TargetDescription description;
  description.family = "laguna";
  SPINDRIFT_TRY(const Config config, read_config(json, {}, description.warnings));
  SPINDRIFT_TRY(description.store, open_weights(folder));
  WeightStore& store = *description.store;
  description.info = info_of(config);
  description.summary = summarise(config);
  description.rotated_residual = config.rotated_residual;

  const Names names(store);
  const auto inside = [&](std::string_view name) {
    const std::string& prefix = names.root.prefix;
    return prefix.empty() || !name.starts_with(prefix + '.') ? name
                                                             : name.substr(prefix.size() + 1);
  };
  group_tensors(
      {.names = kModuleNames,
       .unknown = kUnknown,
       .module_of = [&](std::string_view name) { return module_of(inside(name)); },
       .read_for_a_token =
           [&](size_t module, int64_t bytes) {
             return read_for_a_token(static_cast<Module>(module), bytes, config);
           },
       .columns_of = [&](std::string_view name) { return columns_of(inside(name), config); }},
      description);
  const std::vector<nn::LinearLayer> layers = linear_layers(names, config, description.problems);
  std::vector<WeightScope> scopes;
  for (const nn::LinearLayer& layer : layers) scopes.push_back(layer.scope);
  find_missing(scopes, description);
  const Status claims = config.claims.compare(layers, names.root.prefix, description.warnings);
  if (!claims.ok()) description.problems.push_back(claims.error().message);
  return description;
}

}  // namespace spindrift::laguna
