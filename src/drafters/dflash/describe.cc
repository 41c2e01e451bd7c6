#include "drafters/dflash/describe.h"

#include <string_view>
#include <utility>

#include "nn/linear.h"

namespace spindrift::dflash {
namespace {

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

void check_qkv(const WeightScope& attention, const Config& c, HeaderCheck& check) {
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  if (!attention.store->names(attention.name("qkv_proj.")).empty())
    return check.linear(attention / "qkv_proj", q + 2 * kv, c.hidden);
  check.linear(attention / "q_proj", q, c.hidden);
  check.linear(attention / "k_proj", kv, c.hidden);
  check.linear(attention / "v_proj", kv, c.hidden);
}

void check_layer(const WeightScope& scope, const Config& c, HeaderCheck& check) {
  const WeightScope attention = scope / "self_attn", mlp = scope / "mlp";
  check.vector(scope / "input_layernorm", "weight", c.hidden);
  check.vector(scope / "post_attention_layernorm", "weight", c.hidden);
  check.vector(attention / "q_norm", "weight", c.head_dim);
  check.vector(attention / "k_norm", "weight", c.head_dim);
  check_qkv(attention, c, check);
  check.linear(attention / "g_proj", c.heads, c.hidden);
  check.linear(attention / "o_proj", c.hidden, c.heads * c.head_dim);
  check.linear(mlp / "gate_proj", c.intermediate, c.hidden);
  check.linear(mlp / "up_proj", c.intermediate, c.hidden);
  check.linear(mlp / "down_proj", c.hidden, c.intermediate);
  check.allow(attention);  // k_scale, v_scale
}

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
          {"tapped layers", taps},
          {"target layers", std::to_string(config.target_layers)}};
}

std::vector<ModuleGroup> module_groups(WeightStore& store) {
  ModuleGroupMap groups;
  for (const std::string_view name : store.names()) {
    const Module module = module_of(name);
    ModuleGroup& group = groups[{module, nn::tensor_format(store, name)}];
    const int64_t bytes = store.find(name)->bytes;
    ++group.tensors;
    group.bytes += bytes;
    if (module != kUnused && module != kUnknown) group.bytes_per_token += bytes;
  }
  return list_groups(std::move(groups), kModuleNames);
}

HeaderCheck check_headers(WeightStore& store, const Config& config) {
  HeaderCheck check(store);
  const WeightScope scope{&store, store.names("model.").empty() ? "" : "model"};
  for (int i = 0; i < config.taps(); ++i)
    check.vector(scope / "aux_hidden_norms" / i, "weight", config.hidden);
  check.linear(scope / "fc", config.hidden, config.taps() * config.hidden);
  check.vector(scope / "hidden_norm", "weight", config.hidden);
  check.vector(scope / "norm", "weight", config.hidden);
  for (int i = 0; i < config.layers; ++i) check_layer(scope / "layers" / i, config, check);
  return check;
}

}  // namespace spindrift::dflash
