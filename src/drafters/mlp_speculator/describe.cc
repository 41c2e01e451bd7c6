#include "drafters/mlp_speculator/describe.h"

#include <map>
#include <string_view>
#include <utility>

#include "nn/linear.h"

namespace spindrift::mlp_speculator {
namespace {

enum Module : uint8_t { kEmbedding, kProjection, kNorms, kHead, kUnknown };
constexpr std::string_view kModuleNames[] = {"embedding", "projection", "norms", "head", "unknown"};

Module module_of(std::string_view name) {
  constexpr std::string_view kPrefix = "speculator.";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  if (name.starts_with("emb.")) return kEmbedding;
  if (name.starts_with("proj.")) return kProjection;
  if (name.starts_with("ln.")) return kNorms;
  return name.starts_with("head.") ? kHead : kUnknown;
}

// The number after the module's name: ("speculator.head.3.weight") -> 3.
int stage_of(std::string_view name) {
  const size_t digit = name.find_first_of("0123456789");
  return digit == std::string_view::npos ? 0 : name[digit] - '0';
}

// Bytes of a tensor that one draft of all stages reads. Tied stages read the first one's (for
// projections: the first two's) again; their other copies are never touched.
int64_t read_for_a_draft(Module module, int stage, int64_t bytes, const Config& c) {
  const int first = module == kProjection ? 1 : 0;  // the stage that later ones are tied to
  int times = 1;
  if (c.tied) {
    if (stage > first) return 0;
    if (stage == first) times = c.stages - first;
  }
  if (module == kEmbedding) bytes /= c.vocab;
  return module == kUnknown ? 0 : bytes * times;
}

}  // namespace

ConfigSummary summarise(const Config& c) {
  std::string top_k;
  for (const int k : c.top_k) top_k += (top_k.empty() ? "" : ", ") + std::to_string(k);
  return {{"stages", std::to_string(c.stages)},
          {"hidden size", std::to_string(c.hidden)},
          {"inner size", std::to_string(c.inner)},
          {"vocabulary", std::to_string(c.vocab)},
          {"top-k a stage", top_k},
          {"candidates", std::to_string(c.candidates)},
          {"weights", c.tied ? "tied" : "of each stage"},
          {"input", c.scale_input ? "normed" : "as it is"}};
}

std::vector<ModuleGroup> module_groups(WeightStore& store, const Config& config) {
  std::map<std::pair<Module, std::string>, ModuleGroup> groups;
  for (const std::string_view name : store.names()) {
    const Module module = module_of(name);
    ModuleGroup& group = groups[{module, nn::tensor_format(store, name)}];
    const int64_t bytes = store.find(name)->bytes;
    ++group.tensors;
    group.bytes += bytes;
    group.bytes_per_token += read_for_a_draft(module, stage_of(name), bytes, config);
  }
  std::vector<ModuleGroup> out;
  for (auto& [key, group] : groups) {
    group.module = kModuleNames[key.first];
    group.format = key.second;
    out.push_back(std::move(group));
  }
  return out;
}

std::vector<std::string> find_problems(WeightStore& store, const Config& c) {
  std::vector<std::string> problems;
  const WeightScope root{&store, store.names("speculator.").empty() ? "" : "speculator"};
  const auto need = [&](const WeightScope& scope, int64_t rows) {
    const bool stored = !nn::stored_format(scope).empty();
    if (!stored || nn::stored_rows(scope).value_or(0) != rows)
      problems.push_back(store.where() + ": layer `" + scope.prefix +
                         "`: missing, in no known format, or not of " + std::to_string(rows) +
                         " rows");
  };
  for (int i = 0; i < c.stages; ++i) {
    if (i == 0 || !c.tied) {
      need(root / "emb" / i, c.vocab);
      need(root / "head" / i, c.vocab);
    }
    if (i <= 1 || !c.tied) need(root / "proj" / i, c.inner);
  }
  for (const std::string_view name : store.names())
    if (module_of(name) == kUnknown)
      problems.push_back(store.where() + ": tensor `" + std::string(name) + "`: not part of it");
  return problems;
}

}  // namespace spindrift::mlp_speculator
