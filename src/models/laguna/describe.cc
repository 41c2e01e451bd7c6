#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/laguna/config.h"
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

void note(const Error& error, std::vector<std::string>& problems) {
  if (problems.size() < kMaxProblems) problems.push_back(error.message);
}

// Notes in `problems` what is stored in two layouts at once.
std::vector<WeightScope> mlp_layers(const WeightScope& mlp, std::vector<std::string>& problems) {
  const Result<bool> joined = joins_gate_and_up(mlp);
  if (!joined.ok()) note(joined.error(), problems);
  if (joined.ok() && joined.value()) return {mlp / "gate_up_proj", mlp / "down_proj"};
  return {mlp / "gate_proj", mlp / "up_proj", mlp / "down_proj"};
}

// Whether a stack is one plain tensor with no leaf.
bool is_bare_stack(const WeightScope& stack) {
  const TensorInfo* info = stack.store->find(stack.prefix);
  return info != nullptr && nn::is_float(info->dtype);
}

// Every linear layer that the config asks for, or the tensors that stack them.
std::vector<WeightScope> linear_layers(const Names& names, const Config& config,
                                       std::vector<std::string>& problems) {
  std::vector<WeightScope> layers;
  const auto need_mlp = [&](const WeightScope& scope) {
    for (WeightScope& layer : mlp_layers(scope, problems)) layers.push_back(std::move(layer));
  };
  layers.push_back(names.embed());
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const WeightScope layer = names.layer(static_cast<int64_t>(i)), mlp = layer / "mlp";
    for (const std::string_view leaf : {"q_proj", "k_proj", "v_proj", "o_proj", "g_proj"})
      layers.push_back(layer / "self_attn" / leaf);
    if (!config.layers[i].sparse) {
      need_mlp(mlp);
      continue;
    }
    layers.push_back(router(mlp));
    const Result<ExpertNames> experts = expert_names(mlp);
    if (!experts.ok()) {
      note(experts.error(), problems);
    } else if (experts.value().stacked) {
      for (WeightScope& stack : mlp_layers(experts.value().scope, problems))
        if (!is_bare_stack(stack)) layers.push_back(std::move(stack));
    } else {
      for (int64_t e = 0; e < config.experts; ++e) need_mlp(experts.value().scope / e);
    }
    if (config.shared_inner > 0) need_mlp(shared_expert(mlp));
  }
  if (!config.tied) layers.push_back(names.head());
  return layers;
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
  find_missing(linear_layers(names, config, description.problems), description);
  return description;
}

}  // namespace spindrift::laguna
