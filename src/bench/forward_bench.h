#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "bench/point.h"
#include "bench/roofline.h"
#include "core/exec.h"
#include "models/target_model.h"

namespace spindrift::bench {

// A target to be timed, and on what.
struct Subject {
  const TargetModel* target = nullptr;
  Exec exec;
  int64_t prefill_chunk = 256;
};

struct Schedule {
  std::vector<int64_t> contexts;  // tokens already read
  std::vector<int64_t> rows;      // of one forward
  int repeat = 11;
  std::function<void()> between = [] {};  // called once a repetition
};

// Token ids that a seed determines, distinct while the vocabulary lasts.
std::vector<TokenId> random_tokens(int64_t count, int64_t vocab, uint64_t seed);

// A conversation that has read `tokens` random tokens.
std::unique_ptr<Sequence> read_context(const Subject& subject, int64_t tokens, Workspace& ws);

// A roofline is read after the last repetition, so `between` may measure it.

// One verify forward, all rows with logits, at each context and number of rows: a chain of distinct
// random tokens, the same in every repetition, nothing committed. Repetitions run through all
// points in turn.
std::vector<Point> bench_width(const Subject& subject, const Schedule& schedule,
                               const Roofline& roofline);

// Reading `rows` new tokens after each context, in chunks, with the last one's logits.
std::vector<Point> bench_prefill(const Subject& subject, const Schedule& schedule,
                                 const Roofline& roofline);

// One token after each context, a new random one each time.
std::vector<Point> bench_decode(const Subject& subject, const Schedule& schedule,
                                const Roofline& roofline);

}  // namespace spindrift::bench
