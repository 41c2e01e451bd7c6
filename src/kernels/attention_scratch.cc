#include <algorithm>

#include "kernels/contract.h"

namespace spindrift::kernels {

int64_t attention_scratch(int64_t rows, const AttentionShape& shape, int64_t max_keys) {
  // One score a query head and key; rows are worked on kAttentionRows at a time, and each head's
  // scores start on a multiple of 16.
  const int64_t keys = (max_keys + 15) / 16 * 16;
  return std::min(rows, kAttentionRows) * shape.group * keys;
}

}  // namespace spindrift::kernels
