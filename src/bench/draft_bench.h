#pragma once

#include <vector>

#include "bench/forward_bench.h"
#include "bench/point.h"
#include "bench/roofline.h"
#include "drafters/drafter.h"

namespace spindrift::bench {

// One draft pass at each number of draft tokens (`rows`), after the first of the contexts: taking
// in one committed row and proposing. Repetitions run through all numbers in turn; the context
// grows by a token each time.
std::vector<Point> bench_draft(const Subject& subject, const Drafter& drafter,
                               const Schedule& schedule, const Roofline& roofline);

}  // namespace spindrift::bench
