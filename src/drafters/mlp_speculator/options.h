#pragma once

#include <optional>
#include <vector>

namespace spindrift {

// What a user may set over an MLPSpeculator head's config. It can change the speed only.
struct MlpSpeculatorOptions {
  std::vector<int> top_k;  // tokens tried after each stage, one a stage; empty = the config's
  std::optional<int> candidates;  // continuations verified a round; 1 = the chain of best tokens
};

}  // namespace spindrift
