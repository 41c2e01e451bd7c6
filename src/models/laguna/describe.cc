#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "models/laguna/config.h"
#include "models/laguna/load.h"
#include "models/laguna/names.h"
#include "models/laguna/summary.h"
#include "nn/linear.h"

namespace spindrift::laguna {
namespace {

constexpr size_t kMaxProblems = 20;  // that are spelled out

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

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes the part before the next '.' off the front of `name`.
std::string_view next_part(std::string_view& name) {
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string_view part = name.substr(0, dot);
  name.remove_prefix(std::min(dot + 1, name.size()));
  return part;
}

Module mlp_module(std::string_view rest) {
  const std::string_view part = next_part(rest);
  if (part == "shared_expert" || part == "shared_experts") return kShared;
  if (part == "gate" || part == kSelectionBias || rest == kSelectionBias) return kRouter;
  if (part == "experts") return is_number(next_part(rest)) ? kRouted : kUnknown;
  return part == "gate_proj" || part == "up_proj" || part == "down_proj" ? kDense : kUnknown;
}

// The module that a published tensor name belongs to.
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
  if (block == "self_attn")
    return rest.starts_with("q_norm.") || rest.starts_with("k_norm.") ? kNorms : kAttention;
  return block == "input_layernorm" || block == "post_attention_layernorm" ? kNorms : kUnknown;
}

// The format of the layer that a tensor is part of; of a single tensor, its type.
std::string format_of(WeightStore& store, std::string_view name) {
  const WeightScope layer{&store, std::string(name.substr(0, name.rfind('.')))};
  const std::string_view format = nn::stored_format(layer);
  if (!format.empty()) return std::string(format);
  std::string dtype(dtype_name(store.find(name)->dtype));
  std::transform(dtype.begin(), dtype.end(), dtype.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return dtype;
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

// Linear layers that the config asks for and no tensors are there to be read as.
void find_missing(const Names& names, const Config& config, std::vector<std::string>& problems) {
  const auto need = [&](const WeightScope& scope) {
    if (!nn::stored_format(scope).empty() || problems.size() >= kMaxProblems) return;
    problems.push_back(scope.store->where() + ": layer `" + scope.prefix +
                       "`: missing, or in no known format");
  };
  const auto need_mlp = [&](const WeightScope& scope) {
    for (const std::string_view leaf : {"gate_proj", "up_proj", "down_proj"}) need(scope / leaf);
  };
  need(names.embed());
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const WeightScope layer = names.layer(static_cast<int64_t>(i)), mlp = layer / "mlp";
    for (const std::string_view leaf : {"q_proj", "k_proj", "v_proj", "o_proj", "g_proj"})
      need(layer / "self_attn" / leaf);
    if (!config.layers[i].sparse) {
      need_mlp(mlp);
      continue;
    }
    need(router(mlp));
    for (int64_t e = 0; e < config.experts; ++e) need_mlp(mlp / "experts" / e);
    if (config.shared_inner > 0) need_mlp(shared_expert(mlp));
  }
  if (!config.tied) need(names.head());
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

  std::map<std::pair<Module, std::string>, ModuleGroup> groups;
  for (const std::string_view name : store.names()) {
    const Module module = module_of(name);
    if (module == kUnknown && description.problems.size() < kMaxProblems)
      description.problems.push_back(store.where() + ": tensor `" + std::string(name) +
                                     "`: not part of the model");
    ModuleGroup& group = groups[{module, format_of(store, name)}];
    ++group.tensors;
    group.bytes += store.find(name)->bytes;
  }
  for (auto& [key, group] : groups) {
    group.module = kModuleNames[key.first];
    group.format = key.second;
    group.bytes_per_token = read_for_a_token(key.first, group.bytes, config);
    description.groups.push_back(std::move(group));
  }
  find_missing(Names(store), config, description.problems);
  return description;
}

}  // namespace spindrift::laguna
