#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace spindrift {

// What an engine holds at one moment, and what it has done since it was made.
struct EngineSnapshot {
  int64_t waiting = 0;  // accepted and not running, those dropped for memory included
  int64_t running = 0;
  int64_t context_bytes = 0;  // keys, values and draft context: of running requests and kept ones
  int64_t memory_budget = 0;  // for them; 0 = no limit
  int64_t prefix_bytes = 0;   // of context_bytes: kept for later requests alone

  int64_t prefix_hits = 0;       // requests that found a part of their prompt kept
  int64_t prefix_misses = 0;     // requests that found nothing
  int64_t prefix_tokens = 0;     // prompt tokens that were not read again
  int64_t prefix_evictions = 0;  // kept blocks given up for memory
  int64_t preemptions = 0;       // requests dropped for memory, to be replayed

  // Of requests that have ended.
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;

  int64_t forwards = 0;
  int64_t rows = 0;          // in all of them
  int64_t prefill_rows = 0;  // of rows: of prompts and replays
  double forward_s = 0;

  // [i]: forwards of at most 2^i rows and more than 2^(i-1); the last one: of any number above.
  static constexpr size_t kRowBuckets = 12;
  std::array<int64_t, kRowBuckets> forwards_by_rows{};
  static size_t bucket(int64_t rows) {
    const auto above = static_cast<uint64_t>(std::max<int64_t>(rows, 1) - 1);
    return std::min<size_t>(static_cast<size_t>(std::bit_width(above)), kRowBuckets - 1);
  }
};

}  // namespace spindrift
