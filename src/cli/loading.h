#pragma once

#include <memory>

#include "app/assemble.h"
#include "core/result.h"

namespace spindrift::cli {

// Assembles a model with a progress line on the terminal and its warnings on stderr.
Result<std::unique_ptr<Assembly>> load(const AssembleOptions& options, bool quiet);

}  // namespace spindrift::cli
