#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/contract.h"

namespace spindrift::kernels {

// Keys that several rows of one call see: consecutive positions of one stretch of memory.
struct SharedKeys {
  // What one row sees of them; its scores for these keys start at `slot`.
  struct Part {
    size_t row = 0;
    Position first = 0;
    Position last = 0;  // exclusive
    int64_t slot = 0;
  };
  KeySegment keys;
  size_t parts = 0;
  std::array<Part, static_cast<size_t>(kAttentionRows)> part;
};

// Walks through the segments of up to kAttentionRows rows, each row's in order, and joins those
// that lie in the same memory, so that keys are loaded once for all rows that see them.
class AttentionWalk {
 public:
  explicit AttentionWalk(std::span<const AttentionRow> rows) : rows_(rows) {}
  // The next keys, or false at the end.
  bool next(SharedKeys& shared);

 private:
  std::span<const AttentionRow> rows_;
  std::array<size_t, static_cast<size_t>(kAttentionRows)> segment_{};
  std::array<int64_t, static_cast<size_t>(kAttentionRows)> slot_{};
};

// Floats from one query's scores to the next one's, for queries that see at most `keys` keys.
int64_t score_stride(int64_t keys);

// Keys that a row sees.
int64_t visible_keys(const AttentionRow& row);

}  // namespace spindrift::kernels
