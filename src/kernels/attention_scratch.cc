#include <algorithm>

#include "kernels/contract.h"

namespace spindrift::kernels {

// A score for each query head and key, and a denominator for each query head.
int64_t attention_scratch(int64_t rows, const AttentionShape& shape, int64_t max_keys) {
  return std::min(rows, kAttentionRows) * shape.group * (max_keys + 1);
}

}  // namespace spindrift::kernels
