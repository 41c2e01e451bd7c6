#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/assemble.h"
#include "bench/point.h"
#include "core/result.h"
#include "core/types.h"
#include "engine/engine.h"

namespace spindrift::bench {

struct PairOptions {
  std::vector<std::vector<TokenId>> prompts;  // at least one
  int64_t new_tokens = 128;                   // a prompt, at most
  bool ignore_eos = false;
  std::vector<int64_t> widths;  // draft tokens; plain, auto and the drafter's tree, if it has one,
                                // are always compared
  int repeat = 10;
  // Draft tokens that hit in each round, in turn, whatever the drafter proposes; empty = as it
  // does.
  std::vector<int> accept_pattern;
  EngineOptions engine;
};

// Plain decoding, each width and auto on every prompt, greedy; repetitions run through all of them
// in turn. A rate is all generated tokens but the first of each answer over their seconds; a ratio
// is that of one repetition, and its median is shown. `progress` hears what runs.
Result<std::vector<Point>> bench_pair(const Assembly& assembly, const PairOptions& options,
                                      const std::function<void(std::string_view)>& progress);

}  // namespace spindrift::bench
