#pragma once

#include <cstdint>

#include "synth/checkpoint_plan.h"

namespace spindrift::synth {

// granite-3.0-8b-instruct, its first `layers` layers.
CheckpointPlan plan_granite_8b(int64_t layers);

// granite-3.0-8b-instruct-accelerator: a `.bin` that stores every stage, though they are tied.
CheckpointPlan plan_granite_8b_accelerator();

}  // namespace spindrift::synth
