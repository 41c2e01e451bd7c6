#pragma once

#include <filesystem>

#include "core/result.h"
#include "io/json_config.h"
#include "models/registry.h"

// Targets of model_type `gpt_bigcode`.
namespace spindrift::gpt_bigcode {

// Loads the target in `folder`, whose config.json is `json`.
Result<LoadedTarget> load(const std::filesystem::path& folder, const JsonObject& json,
                          const TargetOptions& options);
// Describes it from its config and headers.
Result<TargetDescription> describe(const std::filesystem::path& folder, const JsonObject& json);

}  // namespace spindrift::gpt_bigcode
