#include "drafters/mlp_speculator/describe.h"

#include <charconv>
#include <string_view>
#include <utility>

#include "nn/linear.h"

namespace spindrift::mlp_speculator {
namespace {

constexpr std::string_view kKinds[] = {"emb", "proj", "ln", "head"};
constexpr std::string_view kModuleNames[] = {"embeddings", "projections", "norms", "heads",
                                             "unknown"};
enum Module : uint8_t { kEmbedding, kProjection, kNorm, kHead, kUnknown };

// "[speculator.]KIND.STAGE.LEAF"
struct Part {
  Module module = kUnknown;
  int stage = 0;
};
Part part_of(std::string_view name) {
  constexpr std::string_view kPrefix = "speculator.";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
    if (!name.starts_with(kKinds[kind]) || name.substr(kKinds[kind].size(), 1) != ".") continue;
    const std::string_view stage = name.substr(kKinds[kind].size() + 1);
    Part part{.module = static_cast<Module>(kind)};
    if (std::from_chars(stage.data(), stage.data() + stage.size(), part.stage).ec == std::errc{})
      return part;
  }
  return {};
}

// How often one chain of all stages reads a tensor. Tied stages read the first one's.
int64_t reads(const Part& part, const Config& config) {
  if (part.module == kUnknown || part.stage >= config.stages) return 0;
  if (!config.tied) return 1;
  if (part.module != kProjection) return part.stage == 0 ? config.stages : 0;
  return part.stage == 0 ? 1 : part.stage == 1 ? config.stages - 1 : 0;
}

}  // namespace

ConfigSummary summarise(const Config& config) {
  std::string top_k;
  for (const int k : config.top_k) top_k += (top_k.empty() ? "" : ", ") + std::to_string(k);
  return {{"stages", std::to_string(config.stages)},
          {"base width", std::to_string(config.hidden)},
          {"inner width", std::to_string(config.inner)},
          {"vocabulary", std::to_string(config.vocab)},
          {"top-k per stage", top_k},
          {"candidates", std::to_string(config.candidates)},
          {"stages tied", config.tied ? "yes" : "no"},
          {"input norm", config.scale_input ? "yes" : "no"}};
}

std::vector<ModuleGroup> module_groups(WeightStore& store, const Config& config) {
  ModuleGroupMap groups;
  for (const std::string_view name : store.names()) {
    const Part part = part_of(name);
    ModuleGroup& group = groups[{part.module, nn::tensor_format(store, name)}];
    const TensorInfo& info = *store.find(name);
    ++group.tensors;
    group.bytes += info.own_bytes();
    // Of an embedding one row is read.
    const int64_t touched = part.module == kEmbedding ? info.bytes / config.vocab : info.bytes;
    group.bytes_per_token += reads(part, config) * touched;
  }
  return list_groups(std::move(groups), kModuleNames);
}

HeaderCheck check_headers(WeightStore& store, const Config& config) {
  HeaderCheck check(store);
  const WeightScope scope{&store, store.names("speculator.").empty() ? "" : "speculator"};
  for (int i = 0; i < config.stages; ++i) {
    const bool needed = !config.tied || i == 0;  // tied stages may store copies, or not
    const auto linear = [&](std::string_view kind, int64_t rows, int64_t columns, bool required) {
      const WeightScope layer = scope / kind / i;
      if (required || layer.has("weight")) check.linear(layer, rows, columns);
    };
    linear("emb", config.vocab, config.inner, needed);
    linear("proj", config.inner, i == 0 ? config.hidden : config.inner, needed || i == 1);
    linear("head", config.vocab, config.inner, needed);
    for (const std::string_view leaf : {"weight", "bias"}) {
      const WeightScope norm = scope / "ln" / i;
      if (needed || norm.has(leaf)) check.vector(norm, leaf, config.inner);
    }
  }
  return check;
}

}  // namespace spindrift::mlp_speculator
