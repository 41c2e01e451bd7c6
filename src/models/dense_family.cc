#include "models/dense_family.h"

#include <algorithm>
#include <string>
#include <vector>

#include "models/module_groups.h"

namespace spindrift {
namespace {

enum Module : size_t { kEmbedding, kPositions, kAttention, kMlp, kNorms, kHead, kUnused, kUnknown };
constexpr std::array<std::string_view, 8> kModuleNames = {
    "embedding", "positions", "attention", "dense MLP", "norms", "head", "not used", "unknown"};

// The module that a published tensor name belongs to.
size_t module_of(std::string_view name, const DenseNames& names) {
  const auto ends_name = [&](std::string_view end) { return name.ends_with(end); };
  if (std::any_of(names.unused.begin(), names.unused.end(), ends_name)) return kUnused;
  std::string_view rest = name;
  const std::string_view root = next_part(rest);
  if (root == "lm_head") return kHead;
  if (root != names.root) return kUnknown;
  const std::string_view part = next_part(rest);
  if (part == names.embedding) return kEmbedding;
  if (!names.positions.empty() && part == names.positions) return kPositions;
  if (part == names.final_norm) return kNorms;
  if (part != names.layers || !is_number(next_part(rest))) return kUnknown;
  const std::string_view block = next_part(rest);
  if (block == names.attention) return kAttention;
  if (block == names.mlp) return kMlp;
  return block == names.norms[0] || block == names.norms[1] ? kNorms : kUnknown;
}

int64_t read_for_a_token(size_t module, int64_t bytes, const DenseFacts& facts) {
  if (module == kEmbedding) return facts.tied ? bytes : bytes / facts.info.vocab;
  if (module == kPositions) return bytes / facts.info.max_context;
  const bool unused = module == kUnused || module == kUnknown || (module == kHead && facts.tied);
  return unused ? 0 : bytes;
}

std::vector<WeightScope> linear_layers(WeightStore& store, const DenseNames& names,
                                       const DenseFacts& facts) {
  const WeightScope top{&store, ""}, root = top / names.root;
  std::vector<WeightScope> layers = {root / names.embedding};
  if (!names.positions.empty()) layers.push_back(root / names.positions);
  for (int64_t i = 0; i < facts.info.layers; ++i) {
    const WeightScope layer = root / names.layers / i;
    for (const std::string_view leaf : names.attention_linears)
      layers.push_back(layer / names.attention / leaf);
    for (const std::string_view leaf : names.mlp_linears)
      layers.push_back(layer / names.mlp / leaf);
  }
  if (!facts.tied) layers.push_back(top / "lm_head");
  return layers;
}

}  // namespace

Result<TargetDescription> describe_dense(const std::filesystem::path& folder,
                                         const JsonObject& json, const DenseNames& names,
                                         DenseFacts facts) {
  TargetDescription description;
  SPINDRIFT_TRY(description.family, json.get_string("model_type"));
  SPINDRIFT_TRY(description.store, open_weights(folder));
  group_tensors(
      {.names = kModuleNames,
       .unknown = kUnknown,
       .module_of = [&](std::string_view name) { return module_of(name, names); },
       .read_for_a_token = [&](size_t module,
                               int64_t bytes) { return read_for_a_token(module, bytes, facts); }},
      description);
  find_missing(linear_layers(*description.store, names, facts), description);
  description.info = facts.info;
  description.summary = std::move(facts.summary);
  return description;
}

}  // namespace spindrift
