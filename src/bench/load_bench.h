#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "app/assemble.h"
#include "bench/point.h"
#include "core/result.h"

namespace spindrift::bench {

// Loading a model and making a first token, each time in a process of its own: "cold", after the
// system was told to drop the model's files from memory, and "warm", right after that. `ms` is the
// time until the model is ready, `first_token_ms` until the first token, both from the same start;
// `rss_bytes` is what the process then holds, mapped weights included. `cached_share` is how much
// of the files was in memory at the start. To be called while no other thread runs.
Result<std::vector<Point>> bench_load(const AssembleOptions& options, int repeat,
                                      const std::function<void(std::string_view)>& progress);

}  // namespace spindrift::bench
