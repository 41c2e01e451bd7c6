#pragma once

#include <vector>

#include "core/types.h"
#include "drafters/registry.h"
#include "models/registry.h"

namespace spindrift::testing {

// The demo target and its DFlash drafter, as committed under models/.
struct Demo {
  LoadedTarget target;
  LoadedDrafter drafter;
  std::vector<TokenId> short_prompt;  // well below the window of the sliding layers
  std::vector<TokenId> long_prompt;   // beyond it
};

// Loaded once, on first use.
const Demo& demo();

}  // namespace spindrift::testing
