#pragma once

#include "models/laguna/config.h"
#include "models/registry.h"
#include "models/target_model.h"

namespace spindrift::laguna {

ModelInfo info_of(const Config& config);
ConfigSummary summarise(const Config& config);

}  // namespace spindrift::laguna
