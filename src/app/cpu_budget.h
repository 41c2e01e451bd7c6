#pragma once

namespace spindrift {

// Threads worth starting: physical cores among the processors this process may run on (affinity),
// not more than its control groups' CPU quota allows, at least 1. Two hardware threads of one core
// share its multiply-add units, so they count once.
int cpu_budget();

}  // namespace spindrift
