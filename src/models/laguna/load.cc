#include "models/laguna/load.h"

#include <algorithm>
#include <utility>

#include "models/laguna/config.h"
#include "models/laguna/model.h"
#include "models/laguna/weights.h"

namespace spindrift::laguna {
namespace {

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
    summary.emplace_back("mixture layers", count([](const LayerConfig& l) { return l.sparse; }));
    summary.emplace_back("experts", std::to_string(config.experts));
    summary.emplace_back("experts a token", std::to_string(config.router.top_k));
  }
  return summary;
}

}  // namespace

Result<LoadedTarget> load(const std::filesystem::path& folder, const JsonObject& json,
                          const TargetOptions& options) {
  LoadedTarget target;
  target.family = "laguna";
  SPINDRIFT_TRY(Config config, read_config(json, {.derived_rope_multiplier = options.rope_derived},
                                           target.warnings));
  SPINDRIFT_TRY(target.store, open_weights(folder));
  SPINDRIFT_TRY(Weights weights, load_weights(*target.store, config, target.warnings));
  target.summary = summarise(config);
  target.rotated_residual = config.rotated_residual;
  target.model = std::make_unique<Model>(std::move(config), std::move(weights), options.kv_dtype);
  return target;
}

}  // namespace spindrift::laguna
