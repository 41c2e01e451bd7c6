#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/result.h"
#include "synth/checkpoint_plan.h"

namespace spindrift::synth {

// A published model whose folder can be made up.
struct Shape {
  std::string_view name;   // what --shape takes
  std::string_view about;  // the release it stands for
  int64_t layers;          // published; of a drafter, its target's
  // A folder of `layers` layers, from 1 to the published number.
  Result<CheckpointPlan> (*plan)(int64_t layers);
};

std::span<const Shape> shapes();

// The plan of a named shape, all of its layers or the first `layers` of them; of a drafter `layers`
// is the target's. kUsage for an unknown name or a number of layers that it cannot have.
Result<CheckpointPlan> plan_checkpoint(std::string_view name, std::optional<int64_t> layers);

}  // namespace spindrift::synth
