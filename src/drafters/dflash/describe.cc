#include "drafters/dflash/describe.h"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "nn/linear.h"

namespace spindrift::dflash {
namespace {

constexpr size_t kMaxProblems = 20;  // that are spelled out

enum Module : uint8_t { kFusion, kAttention, kMlp, kNorms, kUnused, kUnknown };
constexpr std::string_view kModuleNames[] = {"fusion", "attention", "dense MLP",
                                             "norms",  "not used",  "unknown"};

Module module_of(std::string_view name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.ends_with(".k_scale") || name.ends_with(".v_scale")) return kUnused;
  if (has("norm")) return kNorms;
  if (has("self_attn.")) return kAttention;
  if (has("mlp.")) return kMlp;
  return name.starts_with("fc.") || has(".fc.") ? kFusion : kUnknown;
}

// Walks the layers that a config asks for and notes what the headers lack.
class Checker {
 public:
  Checker(WeightStore& store, const Config& config)
      : config_(config), scope_{&store, store.names("model.").empty() ? "" : "model"} {}

  std::vector<std::string> run() {
    const Config& c = config_;
    for (int i = 0; i < c.taps(); ++i) vector(scope_ / "aux_hidden_norms" / i, c.hidden);
    linear(scope_ / "fc", c.hidden);
    vector(scope_ / "hidden_norm", c.hidden);
    vector(scope_ / "norm", c.hidden);
    for (int i = 0; i < c.layers; ++i) layer(scope_ / "layers" / i);
    for (const std::string_view name : scope_.store->names()) {
      const std::string_view module = name.substr(0, name.rfind('.'));
      if (!known_.contains(module)) note("tensor `" + std::string(name) + "`: not part of it");
    }
    return std::move(problems_);
  }

 private:
  void note(const std::string& what) {
    if (problems_.size() < kMaxProblems) problems_.push_back(scope_.store->where() + ": " + what);
  }

  void linear(const WeightScope& scope, int64_t rows) {
    known_.insert(scope.prefix);
    if (nn::stored_format(scope).empty())
      return note("layer `" + scope.prefix + "`: missing, or in no known format");
    const int64_t found = nn::stored_rows(scope).value_or(0);
    if (found != rows)
      note("layer `" + scope.prefix + "`: expected " + std::to_string(rows) + " rows, found " +
           std::to_string(found));
  }

  void vector(const WeightScope& scope, int64_t size) {
    known_.insert(scope.prefix);
    const TensorInfo* info = scope.find("weight");
    if (info == nullptr || info->shape != std::vector<int64_t>{size})
      note("tensor `" + scope.name("weight") + "`: missing, or not of " + std::to_string(size) +
           " elements");
  }

  void qkv(const WeightScope& attention) {
    const int64_t q = config_.heads * config_.head_dim, kv = config_.kv_heads * config_.head_dim;
    if (!scope_.store->names(attention.name("qkv_proj.")).empty())
      return linear(attention / "qkv_proj", q + 2 * kv);
    linear(attention / "q_proj", q);
    linear(attention / "k_proj", kv);
    linear(attention / "v_proj", kv);
  }

  void layer(const WeightScope& scope) {
    const Config& c = config_;
    const WeightScope attention = scope / "self_attn", mlp = scope / "mlp";
    vector(scope / "input_layernorm", c.hidden);
    vector(scope / "post_attention_layernorm", c.hidden);
    vector(attention / "q_norm", c.head_dim);
    vector(attention / "k_norm", c.head_dim);
    qkv(attention);
    linear(attention / "g_proj", c.heads);
    linear(attention / "o_proj", c.hidden);
    linear(mlp / "gate_proj", c.intermediate);
    linear(mlp / "up_proj", c.intermediate);
    linear(mlp / "down_proj", c.hidden);
    known_.insert(attention.prefix);  // k_scale, v_scale
  }

  const Config& config_;
  WeightScope scope_;
  std::set<std::string, std::less<>> known_;  // modules
  std::vector<std::string> problems_;
};

}  // namespace

ConfigSummary summarise(const Config& config) {
  std::string taps;
  for (const int layer : config.target_layer_ids)
    taps += (taps.empty() ? "" : ", ") + std::to_string(layer);
  return {{"layers", std::to_string(config.layers)},
          {"hidden size", std::to_string(config.hidden)},
          {"vocabulary", std::to_string(config.vocab)},
          {"query heads", std::to_string(config.heads)},
          {"key-value heads", std::to_string(config.kv_heads)},
          {"head size", std::to_string(config.head_dim)},
          {"window", std::to_string(config.window)},
          {"draft tokens", std::to_string(config.block_size - 1)},
          {"taps after layers", taps},
          {"target layers", std::to_string(config.target_layers)}};
}

std::vector<ModuleGroup> module_groups(WeightStore& store) {
  std::map<std::pair<Module, std::string>, ModuleGroup> groups;
  for (const std::string_view name : store.names()) {
    const Module module = module_of(name);
    ModuleGroup& group = groups[{module, nn::tensor_format(store, name)}];
    const int64_t bytes = store.find(name)->bytes;
    ++group.tensors;
    group.bytes += bytes;
    if (module != kUnused && module != kUnknown) group.bytes_per_token += bytes;
  }
  std::vector<ModuleGroup> out;
  for (auto& [key, group] : groups) {
    group.module = kModuleNames[key.first];
    group.format = key.second;
    out.push_back(std::move(group));
  }
  return out;
}

std::vector<std::string> find_problems(WeightStore& store, const Config& config) {
  return Checker(store, config).run();
}

}  // namespace spindrift::dflash
