#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/bf16.h"
#include "core/math.h"
#include "kernels/attention_walk.h"
#include "kernels/contract.h"
#include "kernels/dense_source-inl.h"
#include "kernels/lane16-inl.h"
#include "kernels/linear-inl.h"
#include "kernels/math-inl.h"
#include "kernels/simd.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

constexpr int kValueRows = HWY_CAP_GE512 ? 6 : HWY_CAP_GE256 ? 3 : 2;
constexpr int64_t kValueChunk = 64;  // positions whose values stay in the first-level cache

// The scores of one call: a line for each (row, query head), then one denominator for each.
struct Scores {
  float* line(size_t row, int64_t head) const { return data + query(row, head) * stride; }
  float& denominator(size_t row, int64_t head) const {
    return data[queries * stride + query(row, head)];
  }
  int64_t query(size_t row, int64_t head) const { return static_cast<int64_t>(row) * group + head; }
  float* data;
  int64_t group;
  int64_t queries;
  int64_t stride;
};

// A query's share of a block of keys: which positions it sees and where its scores go.
struct Query {
  size_t row;
  int64_t head;
  Position first;
  Position last;
  int64_t slot;  // of `first`
};

// Calls work(query) for every query of `shared` that sees some of [first, last).
class QueryList {
 public:
  QueryList(const SharedKeys& shared, int64_t group, Position first, Position last)
      : shared_(shared), group_(group), first_(first), last_(last) {}
  int64_t count() const {
    int64_t n = 0;
    for (size_t p = 0; p < shared_.parts; ++p) n += sees(p) ? group_ : 0;
    return n;
  }
  bool next(Query& q) {
    for (; part_ < shared_.parts; ++part_, head_ = 0) {
      if (!sees(part_) || head_ == group_) continue;
      const SharedKeys::Part& p = shared_.part[part_];
      q = {p.row, head_, std::max(p.first, first_), std::min(p.last, last_), 0};
      q.slot = p.slot + (q.first - p.first);
      ++head_;
      return true;
    }
    return false;
  }

 private:
  bool sees(size_t p) const {
    return shared_.part[p].first < last_ && shared_.part[p].last > first_;
  }
  const SharedKeys& shared_;
  int64_t group_;
  Position first_, last_;
  size_t part_ = 0;
  int64_t head_ = 0;
};

// scale * q.k of every query and key of `shared`.
template <class Source>
void ScoreKeys(const Source& source, const SharedKeys& shared, std::span<const AttentionRow> rows,
               const AttentionShape& shape, const Scores& scores) {
  alignas(64) float acc[kMaxTileRows * kBlockColumns * 16] = {};
  const int64_t dim = shape.head_dim;
  const int64_t whole = dim / 16 * 16;
  const Epilogue epilogue{.scale = shape.scale};
  NoPrefetch none;
  for (int64_t key = 0; key < shared.keys.count; key += kBlockColumns) {
    const int64_t end = std::min<int64_t>(key + kBlockColumns, shared.keys.count);
    const Position at = shared.keys.first + key;
    QueryList list(shared, shape.group, at, shared.keys.first + end);
    int64_t left = list.count();
    int64_t tiles = (left + kMaxTileRows - 1) / kMaxTileRows;
    for (; tiles > 0; --tiles) {
      const int height = static_cast<int>(left / tiles);
      left -= height;
      Query query[kMaxTileRows];
      const float* inputs[kMaxTileRows];
      for (int i = 0; i < height; ++i) {
        list.next(query[i]);
        inputs[i] = rows[query[i].row].q + query[i].head * dim;
      }
      AccumulateTile(source, key, end, height, inputs, 0, whole, true, acc, none);
      if (whole < dim) AccumulateTail(source, key, end, height, inputs, whole, dim, acc);
      for (int i = 0; i < height; ++i) {
        HWY_ALIGN float out[kBlockColumns];
        Finish(source, acc + i * kBlockColumns * 16, epilogue, 0, kBlockColumns, out);
        const Query& q = query[i];
        std::memcpy(scores.line(q.row, q.head) + q.slot, out + (q.first - at),
                    static_cast<size_t>(q.last - q.first) * sizeof(float));
      }
    }
  }
}

HWY_INLINE float MaxOf(const float* x, int64_t count, float top) {
  const FloatTag df;
  Floats best = Splat(top);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) best = hn::Max(best, hn::LoadU(df, x + i));
  HWY_ALIGN float lanes[kLanes];
  hn::StoreU(best, df, lanes);
  for (const float lane : lanes) top = std::max(top, lane);
  for (; i < count; ++i) top = std::max(top, x[i]);
  return top;
}

// Adds e(p) to lane p % 16 for the `count` positions from `first` on.
HWY_INLINE void AddByPosition(const float* e, Position first, int64_t count, float* lanes) {
  int64_t i = 0;
  for (; i < count && (first + i) % 16 != 0; ++i) lanes[(first + i) % 16] += e[i];
  Vec16 acc = Load16(lanes);
  for (; i + 16 <= count; i += 16) acc = Add16(acc, Load16(e + i));
  Store16(acc, lanes);
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += e[i];
}

// Turns a query's scores into exp(score - max) and returns the softmax's denominator.
float Exponentials(const AttentionRow& row, int64_t head, int64_t keys, float* line) {
  const FloatTag df;
  const bool sink = !row.sinks.empty();
  const float logit =
      sink ? row.sinks[static_cast<size_t>(head)] : -std::numeric_limits<float>::infinity();
  const float top = MaxOf(line, keys, logit);
  const Floats shift = Splat(top);
  int64_t i = 0;
  for (; i + kLanes <= keys; i += kLanes) {
    hn::StoreU(Exp(hn::Sub(hn::LoadU(df, line + i), shift)), df, line + i);
  }
  for (; i < keys; ++i) line[i] = math::exp(line[i] - top);

  HWY_ALIGN float lanes[16] = {};
  int64_t slot = 0;
  for (size_t s = 0; s < row.segments.size();) {
    const Position first = row.segments[s].first;
    int64_t count = row.segments[s].count;
    for (++s; s < row.segments.size() && row.segments[s].first == first + count; ++s) {
      count += row.segments[s].count;
    }
    AddByPosition(line + slot, first, count, lanes);
    slot += count;
  }
  const float sum = Fold16(Load16(lanes));
  return sink ? sum + math::exp(logit - top) : sum;
}

template <class Element>
HWY_INLINE Floats LoadValues(const uint8_t* p) {
  const FloatTag df;
  if constexpr (Element::kBytes == 4) {
    const hn::Repartition<uint8_t, FloatTag> d8;
    return hn::BitCast(df, hn::LoadU(d8, p));
  } else {
    const hn::RebindToUnsigned<FloatTag> d32;
    const hn::Rebind<uint16_t, FloatTag> d16;
    const hn::Repartition<uint8_t, decltype(d16)> d8;
    const auto half = hn::BitCast(d16, hn::LoadU(d8, p));
    return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(d32, half)));
  }
}

// out[r][d] = fma(e[r][p], v[p][d], out[r][d]) for p ascending, kVectors registers of features.
template <class Element, int kRows, int kVectors>
HWY_INLINE void ValueTile(const uint8_t* values, int64_t stride, int64_t count,
                          const float* const* e, float* const* out, int64_t d) {
  const FloatTag df;
  Floats sums[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) sums[r][i] = hn::LoadU(df, out[r] + d + i * kLanes);
  }
  const float* weights[kRows];
  for (int r = 0; r < kRows; ++r) weights[r] = e[r];
  const uint8_t* at = values + d * Element::kBytes;
  for (int64_t p = 0; p < count; ++p, at += stride) {
    Floats v[kVectors];
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i)
      v[i] = LoadValues<Element>(at + i * kLanes * Element::kBytes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Floats weight = Splat(weights[r][p]);
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) sums[r][i] = Fma(weight, v[i], sums[r][i]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) hn::StoreU(sums[r][i], df, out[r] + d + i * kLanes);
  }
}

template <class Element, int kRows>
HWY_NOINLINE void ValueRows(const uint8_t* values, int64_t stride, int64_t count, int64_t dim,
                            const float* const* e, float* const* out) {
  constexpr int kVectors = HWY_CAP_GE256 ? 4 : 2;
  int64_t d = 0;
  for (; d + kVectors * kLanes <= dim; d += kVectors * kLanes) {
    ValueTile<Element, kRows, kVectors>(values, stride, count, e, out, d);
  }
  for (; d + kLanes <= dim; d += kLanes) {
    ValueTile<Element, kRows, 1>(values, stride, count, e, out, d);
  }
  for (; d < dim; ++d) {
    for (int r = 0; r < kRows; ++r) {
      float acc = out[r][d];
      for (int64_t p = 0; p < count; ++p) {
        acc = std::fma(e[r][p], Element::scalar(values + p * stride + d * Element::kBytes), acc);
      }
      out[r][d] = acc;
    }
  }
}

template <class Element>
HWY_INLINE void AddValues(int rows, const uint8_t* values, int64_t stride, int64_t count,
                          int64_t dim, const float* const* e, float* const* out) {
  switch (rows) {
    case 1:
      return ValueRows<Element, 1>(values, stride, count, dim, e, out);
    case 2:
      return ValueRows<Element, 2>(values, stride, count, dim, e, out);
#if HWY_CAP_GE256
    case 3:
      return ValueRows<Element, 3>(values, stride, count, dim, e, out);
#endif
#if HWY_CAP_GE512
    case 4:
      return ValueRows<Element, 4>(values, stride, count, dim, e, out);
    case 5:
      return ValueRows<Element, 5>(values, stride, count, dim, e, out);
    case 6:
      return ValueRows<Element, 6>(values, stride, count, dim, e, out);
#endif
    default:
      __builtin_unreachable();
  }
}

// Adds the values of `shared` to the outputs of every query that sees them.
template <class Element>
void SumValues(const uint8_t* values, const SharedKeys& shared, std::span<const AttentionRow> rows,
               const AttentionShape& shape, const Scores& scores) {
  const int64_t dim = shape.head_dim;
  const int64_t stride = shared.keys.position_stride * Element::kBytes;
  for (int64_t key = 0; key < shared.keys.count; key += kValueChunk) {
    const int64_t end = std::min(key + kValueChunk, shared.keys.count);
    QueryList list(shared, shape.group, shared.keys.first + key, shared.keys.first + end);
    Query query;
    bool more = list.next(query);
    while (more) {
      // As many queries as fit a tile and see the same positions.
      const Query lead = query;
      const float* e[kValueRows];
      float* out[kValueRows];
      int height = 0;
      do {
        e[height] = scores.line(query.row, query.head) + query.slot;
        out[height] = rows[query.row].out + query.head * dim;
        ++height;
        more = list.next(query);
      } while (more && height < kValueRows && query.first == lead.first && query.last == lead.last);
      AddValues<Element>(height, values + (lead.first - shared.keys.first) * stride, stride,
                         lead.last - lead.first, dim, e, out);
    }
  }
}

void Normalize(float* out, int64_t dim, float denominator) {
  const FloatTag df;
  const Floats divisor = Splat(denominator);
  int64_t d = 0;
  for (; d + kLanes <= dim; d += kLanes) {
    hn::StoreU(hn::Div(hn::LoadU(df, out + d), divisor), df, out + d);
  }
  for (; d < dim; ++d) out[d] /= denominator;
}

// Up to kAttentionRows rows.
void AttendTogether(std::span<const AttentionRow> rows, const AttentionShape& shape,
                    float* scratch) {
  int64_t most = 0;
  for (const AttentionRow& row : rows) most = std::max(most, visible_keys(row));
  const auto count = static_cast<int64_t>(rows.size());
  const Scores scores{scratch, shape.group, count * shape.group, most};

  SharedKeys shared;
  const auto head_at = [&](const std::byte* data) HWY_ATTR {
    return data + shape.kv_head * shared.keys.head_stride * dtype_bytes(shared.keys.dtype);
  };
  for (AttentionWalk walk(rows); walk.next(shared);) {
    const std::byte* keys = head_at(shared.keys.keys);
    if (shared.keys.dtype == DType::kBf16) {
      ScoreKeys(Bf16Source(keys, shared.keys.position_stride), shared, rows, shape, scores);
    } else {
      ScoreKeys(F32Source(keys, shared.keys.position_stride), shared, rows, shape, scores);
    }
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    const int64_t keys = visible_keys(rows[r]);
    for (int64_t h = 0; h < shape.group; ++h) {
      scores.denominator(r, h) = Exponentials(rows[r], h, keys, scores.line(r, h));
    }
    std::fill_n(rows[r].out, shape.group * shape.head_dim, 0.0F);
  }
  for (AttentionWalk walk(rows); walk.next(shared);) {
    const auto* values = reinterpret_cast<const uint8_t*>(head_at(shared.keys.values));
    if (shared.keys.dtype == DType::kBf16) {
      SumValues<Bf16Element>(values, shared, rows, shape, scores);
    } else {
      SumValues<F32Element>(values, shared, rows, shape, scores);
    }
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int64_t h = 0; h < shape.group; ++h) {
      Normalize(rows[r].out + h * shape.head_dim, shape.head_dim, scores.denominator(r, h));
    }
  }
}

void Attention(std::span<const AttentionRow> rows, const AttentionShape& shape,
               std::span<float> scratch) {
  constexpr auto kRows = static_cast<size_t>(kAttentionRows);
  for (size_t r = 0; r < rows.size(); r += kRows) {
    AttendTogether(rows.subspan(r, std::min(kRows, rows.size() - r)), shape, scratch.data());
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
