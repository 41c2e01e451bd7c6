#pragma once

#include <string>

#include "models/target_model.h"

namespace spindrift {

// What a drafter needs to know of a target before it can be paired with it; known from the target's
// config alone, so that pairing is checked without reading weights.
struct TargetFacts {
  std::string family;  // "laguna", ...
  ModelInfo info;
};

}  // namespace spindrift
