#pragma once

#include <filesystem>

#include "core/result.h"
#include "io/json_config.h"
#include "models/registry.h"

namespace spindrift::laguna {

// Loads the Laguna target in `folder`, whose config.json is `json`.
Result<LoadedTarget> load(const std::filesystem::path& folder, const JsonObject& json,
                          const TargetOptions& options);

// What config and headers tell about it.
Result<TargetDescription> describe(const std::filesystem::path& folder, const JsonObject& json);

}  // namespace spindrift::laguna
