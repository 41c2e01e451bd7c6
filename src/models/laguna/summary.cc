#include "models/laguna/summary.h"

#include <algorithm>
#include <string>

namespace spindrift::laguna {

ModelInfo info_of(const Config& config) {
  return {.vocab = config.vocab,
          .hidden = config.hidden,
          .layers = static_cast<int>(config.layers.size()),
          .max_context = config.max_context};
}

ConfigSummary summarise(const Config& config) {
  const auto count = [&](auto predicate) {
    return std::to_string(std::count_if(config.layers.begin(), config.layers.end(), predicate));
  };
  const auto [least, most] = std::minmax_element(
      config.layers.begin(), config.layers.end(),
      [](const LayerConfig& a, const LayerConfig& b) { return a.heads < b.heads; });
  std::string heads = std::to_string(least->heads);
  if (most->heads != least->heads) heads += " to " + std::to_string(most->heads);
  ConfigSummary summary = {
      {"layers", std::to_string(config.layers.size())},
      {"sliding layers", count([](const LayerConfig& l) { return l.sliding; })},
      {"hidden size", std::to_string(config.hidden)},
      {"vocabulary", std::to_string(config.vocab)},
      {"context", std::to_string(config.max_context)},
      {"query heads", heads},
      {"key-value heads", std::to_string(config.kv_heads)},
      {"head size", std::to_string(config.head_dim)},
  };
  if (config.window > 0) summary.emplace_back("window", std::to_string(config.window));
  if (config.experts > 0) {
    summary.emplace_back("MoE layers", count([](const LayerConfig& l) { return l.sparse; }));
    summary.emplace_back("experts", std::to_string(config.experts));
    summary.emplace_back("active experts", std::to_string(config.router.top_k));
  }
  return summary;
}

}  // namespace spindrift::laguna
