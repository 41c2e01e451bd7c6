#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <limits>
#include <span>

#include "core/math.h"
#include "kernels/attention_scores-inl.h"
#include "kernels/attention_values-inl.h"
#include "kernels/attention_walk.h"
#include "kernels/contract.h"
#include "kernels/dense_source-inl.h"
#include "kernels/lane16-inl.h"
#include "kernels/math-inl.h"
#include "kernels/simd.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

void Normalize(float* out, int64_t dim, float denominator) {
  const FloatTag df;
  const Floats divisor = Splat(denominator);
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    hn::StoreU(hn::Div(hn::LoadU(df, out + d), divisor), df, out + d);
  }
  for (; d < dim; ++d) out[d] /= denominator;
}

// A stretch of the query heads of up to kAttentionRows rows, kMaxQueries at most.
struct Pass {
  std::span<const AttentionRow> rows;
  int64_t first_head;
  int64_t heads;
};

float Sink(const AttentionRow& row, int64_t head) {
  return row.sinks.empty() ? -std::numeric_limits<float>::infinity()
                           : row.sinks[static_cast<size_t>(head)];
}

// Where the keys or values of the shape's KV head start.
const std::byte* HeadAt(const std::byte* data, const KeySegment& s, const AttentionShape& shape) {
  return data + shape.kv_head * s.head_stride * dtype_bytes(s.dtype);
}

void Attend(const Pass& pass, const AttentionShape& shape, float* scratch) {
  int64_t most = 0;
  for (const AttentionRow& row : pass.rows) most = std::max(most, visible_keys(row));
  const int64_t stride = score_stride(most);
  Head heads[kMaxQueries];
  size_t count = 0;
  for (const AttentionRow& row : pass.rows) {
    for (int64_t h = pass.first_head; h < pass.first_head + pass.heads; ++h) {
      float* line = scratch + static_cast<int64_t>(count) * (stride + 32);
      float* lanes = line + stride;
      float* out = row.out + h * shape.head_dim;
      heads[count++] = {row.q + h * shape.head_dim, out, line, lanes, lanes + 16};
      std::fill_n(lanes, 16, Sink(row, h));
      std::fill_n(out, shape.head_dim, 0.0F);
    }
  }
  const std::span<const Head> all(heads, count);

  SharedKeys shared;
  QuerySet set;
  for (AttentionWalk walk(pass.rows); walk.next(shared);) {
    CollectQueries(shared, all, pass.heads, set);
    const KeySegment& s = shared.keys;
    if (s.dtype == DType::kBf16) {
      ScoreKeys(Bf16Source(HeadAt(s.keys, s, shape), s.position_stride), s, set, shape);
    } else {
      ScoreKeys(F32Source(HeadAt(s.keys, s, shape), s.position_stride), s, set, shape);
    }
  }
  for (const Head& head : all) {
    *head.top = *std::max_element(head.lanes, head.lanes + 16);
    std::fill_n(head.lanes, 16, 0.0F);
  }
  for (AttentionWalk walk(pass.rows); walk.next(shared);) {
    CollectQueries(shared, all, pass.heads, set);
    const KeySegment& s = shared.keys;
    const auto* values = reinterpret_cast<const uint8_t*>(HeadAt(s.values, s, shape));
    if (s.dtype == DType::kBf16) {
      SumValues<Bf16Element>(values, s, set, shape);
    } else {
      SumValues<F32Element>(values, s, set, shape);
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const AttentionRow& row = pass.rows[i / static_cast<size_t>(pass.heads)];
    const int64_t h = pass.first_head + static_cast<int64_t>(i) % pass.heads;
    float sum = Fold16(Load16(heads[i].lanes));
    if (!row.sinks.empty()) sum += math::exp(Sink(row, h) - *heads[i].top);
    Normalize(heads[i].out, shape.head_dim, sum);
  }
}

void Attention(std::span<const AttentionRow> rows, const AttentionShape& shape,
               std::span<float> scratch) {
  const int64_t heads = std::min(shape.group, kMaxQueries);
  const auto together =
      static_cast<size_t>(std::min(kAttentionRows, std::max<int64_t>(kMaxQueries / heads, 1)));
  for (size_t r = 0; r < rows.size(); r += together) {
    const auto some = rows.subspan(r, std::min(together, rows.size() - r));
    for (int64_t h = 0; h < shape.group; h += heads) {
      Attend({some, h, std::min(heads, shape.group - h)}, shape, scratch.data());
    }
  }
}

}  // namespace

void FillAttention(Table& table) { table.attention = Attention; }

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#if HWY_ONCE
#include "kernels/dispatch-inl.h"

namespace spindrift::kernels {

void simd::fill_attention(Isa isa, Table& table) { SPINDRIFT_FILL(FillAttention, isa, table); }

}  // namespace spindrift::kernels
#endif
