#include <algorithm>

#include "kernels/attention_walk.h"
#include "kernels/contract.h"

namespace spindrift::kernels {

// An odd number of cache lines (with the two that follow): a power of two would put the same keys
// of all queries into the same few cache sets.
int64_t score_stride(int64_t keys) { return ((keys + 15) / 16 | 1) * 16; }

// For each query head: a line of scores, sixteen lanes, and a maximum with padding to sixteen.
int64_t attention_scratch(int64_t rows, const AttentionShape& shape, int64_t max_keys) {
  return std::min(rows, kAttentionRows) * shape.group * (score_stride(max_keys) + 32);
}

}  // namespace spindrift::kernels
