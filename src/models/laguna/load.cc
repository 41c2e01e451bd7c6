#include "models/laguna/load.h"

#include <utility>

#include "models/laguna/config.h"
#include "models/laguna/model.h"
#include "models/laguna/summary.h"
#include "models/laguna/weights.h"

namespace spindrift::laguna {
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
