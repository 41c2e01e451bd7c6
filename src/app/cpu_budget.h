#pragma once

#include <memory>

#include "core/result.h"
#include "core/thread_pool.h"

namespace spindrift {

// Threads worth starting: physical cores among the processors this process may run on (affinity),
// not more than its control groups' CPU quota allows, at least 1. Two hardware threads of one core
// share its multiply-add units, so they count once.
int cpu_budget();

// Threads for kernels, the caller included (threads >= 1); kLimit when the system does not give so
// many.
Result<std::unique_ptr<ThreadPool>> make_threads(int threads);

}  // namespace spindrift
