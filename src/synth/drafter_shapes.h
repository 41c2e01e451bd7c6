#pragma once

#include <cstdint>

#include "synth/checkpoint_plan.h"

namespace spindrift::synth {

// Poolside's DFlash drafter of XS 2.1 or S 2.1, in bf16.
struct DflashModel {
  int64_t layers, hidden, inner, heads, target_layers, context;
};
inline constexpr DflashModel kXsDflash = {5, 2048, 8192, 64, 40, 262144};
inline constexpr DflashModel kSDflash = {6, 3072, 12288, 72, 48, 1048576};

// For a target of `target_layers` layers, no fewer than the drafter's own: the published taps when
// it has all of them, else as many spread evenly from its second layer to its last.
CheckpointPlan plan_dflash(const DflashModel& model, int64_t target_layers);

}  // namespace spindrift::synth
