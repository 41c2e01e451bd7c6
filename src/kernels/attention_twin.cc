#include <algorithm>
#include <cstring>
#include <limits>

#include "core/bf16.h"
#include "core/math.h"
#include "kernels/lane16.h"
#include "kernels/twins.h"

namespace spindrift::kernels::twin {
namespace {

float element(const std::byte* data, DType dtype, int64_t index) {
  if (dtype == DType::kBf16) {
    uint16_t bits = 0;
    std::memcpy(&bits, data + index * 2, sizeof(bits));
    return bf16_to_float(bits);
  }
  float value = 0.0F;
  std::memcpy(&value, data + index * 4, sizeof(value));
  return value;
}

// One query head of one row. scores: room for every visible key.
void attend(const AttentionRow& row, const AttentionShape& shape, int64_t head, float* scores) {
  const int64_t dim = shape.head_dim;
  const float* q = row.q + head * dim;
  float* out = row.out + head * dim;
  float top = row.sinks.empty() ? -std::numeric_limits<float>::infinity()
                                : row.sinks[static_cast<size_t>(head)];
  int64_t at = 0;
  for (const KeySegment& s : row.segments) {
    for (int64_t i = 0; i < s.count; ++i, ++at) {
      const int64_t origin = i * s.position_stride + shape.kv_head * s.head_stride;
      Lane16 acc{};
      lane16_accumulate(
          q, dim, [&](int64_t d) { return element(s.keys, s.dtype, origin + d); }, acc);
      scores[at] = lane16_fold(acc) * shape.scale;
      top = std::max(top, scores[at]);
    }
  }

  Lane16 sums{};
  at = 0;
  for (const KeySegment& s : row.segments) {
    for (int64_t i = 0; i < s.count; ++i, ++at) {
      scores[at] = math::exp(scores[at] - top);
      sums[static_cast<size_t>((s.first + i) % 16)] += scores[at];
    }
  }
  float denominator = lane16_fold(sums);
  if (!row.sinks.empty()) denominator += math::exp(row.sinks[static_cast<size_t>(head)] - top);

  for (int64_t d = 0; d < dim; ++d) {
    float acc = 0.0F;
    at = 0;
    for (const KeySegment& s : row.segments) {
      for (int64_t i = 0; i < s.count; ++i, ++at) {
        const int64_t origin = i * s.position_stride + shape.kv_head * s.head_stride;
        acc = std::fma(scores[at], element(s.values, s.dtype, origin + d), acc);
      }
    }
    out[d] = acc / denominator;
  }
}

}  // namespace

void attention(std::span<const AttentionRow> rows, const AttentionShape& shape,
               std::span<float> scratch) {
  for (const AttentionRow& row : rows) {
    for (int64_t head = 0; head < shape.group; ++head) attend(row, shape, head, scratch.data());
  }
}

}  // namespace spindrift::kernels::twin
