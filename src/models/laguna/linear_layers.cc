#include "models/laguna/linear_layers.h"

#include <string_view>
#include <utility>

#include "models/module_groups.h"
#include "nn/float_tensor.h"

namespace spindrift::laguna {
namespace {

// Whether a stack is one plain tensor with no leaf.
bool is_bare_stack(const WeightScope& stack) {
  const TensorInfo* info = stack.store->find(stack.prefix);
  return info != nullptr && nn::is_float(info->dtype);
}

class Collector {
 public:
  Collector(const Config& config, std::vector<std::string>& problems)
      : config_(config), problems_(problems) {}

  void add(WeightScope scope, int64_t in) { layers_.push_back({std::move(scope), in}); }

  void add_attention(const WeightScope& attention, const LayerConfig& layer) {
    for (const std::string_view leaf : {"q_proj", "k_proj", "v_proj", "g_proj"})
      add(attention / leaf, config_.hidden);
    add(attention / "o_proj", layer.heads * config_.head_dim);
  }

  void add_mlp(const WeightScope& mlp, int64_t inner, bool stacked = false) {
    const Result<bool> joined = joins_gate_and_up(mlp);
    if (!joined.ok()) note(joined.error());
    std::vector<std::string_view> parts = {"gate_proj", "up_proj"};
    if (joined.ok() && joined.value()) parts = {"gate_up_proj"};
    for (const std::string_view part : parts) {
      WeightScope scope = mlp / part;
      if (!stacked || !is_bare_stack(scope)) add(std::move(scope), config_.hidden);
    }
    WeightScope down = mlp / "down_proj";
    if (!stacked || !is_bare_stack(down)) add(std::move(down), inner);
  }

  void add_mixture(const WeightScope& mlp) {
    add(router(mlp), config_.hidden);
    const Result<ExpertNames> experts = expert_names(mlp);
    if (!experts.ok()) {
      note(experts.error());
    } else if (experts.value().stacked) {
      add_mlp(experts.value().scope, config_.expert_inner, /*stacked=*/true);
    } else {
      for (int64_t e = 0; e < config_.experts; ++e)
        add_mlp(experts.value().scope / e, config_.expert_inner);
    }
    if (config_.shared_inner > 0) add_mlp(shared_expert(mlp), config_.shared_inner);
  }

  std::vector<nn::LinearLayer> take() && { return std::move(layers_); }

 private:
  void note(const Error& error) {
    if (problems_.size() < kMaxProblems) problems_.push_back(error.message);
  }

  const Config& config_;
  std::vector<std::string>& problems_;
  std::vector<nn::LinearLayer> layers_;
};

}  // namespace

std::vector<nn::LinearLayer> linear_layers(const Names& names, const Config& config,
                                           std::vector<std::string>& problems) {
  Collector collector(config, problems);
  collector.add(names.embed(), config.hidden);
  for (size_t i = 0; i < config.layers.size(); ++i) {
    const WeightScope layer = names.layer(static_cast<int64_t>(i)), mlp = layer / "mlp";
    collector.add_attention(layer / "self_attn", config.layers[i]);
    if (config.layers[i].sparse) {
      collector.add_mixture(mlp);
    } else {
      collector.add_mlp(mlp, config.intermediate);
    }
  }
  if (!config.tied) collector.add(names.head(), config.hidden);
  return std::move(collector).take();
}

}  // namespace spindrift::laguna
