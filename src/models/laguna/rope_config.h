#pragma once

#include "core/result.h"
#include "io/json_config.h"
#include "models/laguna/config.h"

namespace spindrift::laguna {

// Fills config.full_rope and config.sliding_rope from `rope_parameters`: one dictionary for each
// layer type, or one flat dictionary for all; loose scalars beside dictionaries are passed over.
// Needs config.head_dim, window and layers.
Status read_ropes(const JsonObject& json, const ConfigOptions& options, Config& config);

}  // namespace spindrift::laguna
