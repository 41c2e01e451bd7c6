// Attention, second half: scores become weights, and values are added up by them.
#if defined(SPINDRIFT_KERNELS_ATTENTION_VALUES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_ATTENTION_VALUES_INL_H_
#undef SPINDRIFT_KERNELS_ATTENTION_VALUES_INL_H_
#else
#define SPINDRIFT_KERNELS_ATTENTION_VALUES_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/math.h"
#include "kernels/attention_scores-inl.h"
#include "kernels/contract.h"
#include "kernels/dense_source-inl.h"
#include "kernels/lane16-inl.h"
#include "kernels/math-inl.h"
#include "kernels/targets.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

inline constexpr int kValueRows = HWY_CAP_GE512 ? 6 : HWY_CAP_GE256 ? 3 : 2;
inline constexpr int64_t kValueChunk = 64;  // positions whose values are worked on together

// Adds e(p) to lane p % 16 for the `count` positions from `first` on.
HWY_INLINE void AddByPosition(const float* e, Position first, int64_t count, float* lanes) {
  int64_t i = 0;
  for (; i < count && (first + i) % 16 != 0; ++i) lanes[(first + i) % 16] += e[i];
  Vec16 acc = Load16(lanes);
  for (; i + 16 <= count; i += 16) acc = Add16(acc, Load16(e + i));
  Store16(acc, lanes);
  for (int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += e[i];
}

// Turns `count` scores into exp(score - top).
HWY_INLINE void Exponentials(float* line, int64_t count, float top) {
  const FloatTag df;
  const Floats shift = Splat(top);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(Exp(hn::Sub(hn::LoadU(df, line + i), shift)), df, line + i);
  }
  for (; i < count; ++i) line[i] = math::exp(line[i] - top);
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
                          const float* const* e, float* const* out, int64_t d, bool fetch) {
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
    if (fetch) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < kVectors * kLanes * Element::kBytes; i += 64) {
        hwy::Prefetch(at + kValueChunk * stride + i);
      }
    }
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

// The same for `dim` features, in registers of floats, of up to kValueRows queries.
template <class Element, int kVectors>
HWY_INLINE void ValueRows(int rows, const uint8_t* values, int64_t stride, int64_t count,
                          const float* const* e, float* const* out, int64_t d, bool fetch) {
#define SPINDRIFT_VALUE_ROWS(n)                                                        \
  case n:                                                                              \
    if constexpr (n <= kValueRows) {                                                   \
      return ValueTile<Element, n, kVectors>(values, stride, count, e, out, d, fetch); \
    }                                                                                  \
    break;
  switch (rows) {
    SPINDRIFT_VALUE_ROWS(1)
    SPINDRIFT_VALUE_ROWS(2)
    SPINDRIFT_VALUE_ROWS(3)
    SPINDRIFT_VALUE_ROWS(4)
    SPINDRIFT_VALUE_ROWS(5)
    SPINDRIFT_VALUE_ROWS(6)
    default:
      break;
  }
#undef SPINDRIFT_VALUE_ROWS
  __builtin_unreachable();
}

template <class Element>
void ValueTail(const uint8_t* values, int64_t stride, int64_t count, const float* e, float* out,
               int64_t d, int64_t dim) {
  for (; d < dim; ++d) {
    float acc = out[d];
    for (int64_t p = 0; p < count; ++p) {
      acc = std::fma(e[p], Element::scalar(values + p * stride + d * Element::kBytes), acc);
    }
    out[d] = acc;
  }
}

// Queries that see the same positions of a chunk of values.
struct ValueWork {
  const uint8_t* values;
  int64_t stride;
  int64_t count;
  int queries;
  const float* e[kMaxQueries];
  float* out[kMaxQueries];
};

// out += e * values, feature by feature, positions ascending.
template <class Element>
void AddValues(const ValueWork& work, int64_t dim, bool fetch) {
  constexpr int kVectors = HWY_CAP_GE256 ? 4 : 2;
  int64_t d = 0;
  while (d + kLanes <= dim) {
    const bool wide = d + kVectors * kLanes <= dim;
    bool first = fetch;
    const int tiles = tile_count(work.queries, kValueRows);
    for (int t = 0, r = 0; t < tiles; ++t) {
      const int height = (work.queries - r) / (tiles - t);
      if (wide) {
        ValueRows<Element, kVectors>(height, work.values, work.stride, work.count, work.e + r,
                                     work.out + r, d, first);
      } else {
        ValueRows<Element, 1>(height, work.values, work.stride, work.count, work.e + r,
                              work.out + r, d, first);
      }
      r += height;
      first = false;
    }
    d += wide ? kVectors * kLanes : kLanes;
  }
  if (d == dim) return;
  for (int r = 0; r < work.queries; ++r) {
    ValueTail<Element>(work.values, work.stride, work.count, work.e[r], work.out[r], d, dim);
  }
}

// Turns the scores of a run into weights, and adds these to their queries' partial sums and the
// weighted values to their outputs.
template <class Element>
void SumValues(const uint8_t* values, const KeySegment& keys, const QuerySet& set,
               const AttentionShape& shape) {
  ValueWork work;
  work.stride = keys.position_stride * Element::kBytes;
  for (int64_t key = 0; key < keys.count; key += kValueChunk) {
    const Position at = keys.first + key;
    const Position end = keys.first + std::min(key + kValueChunk, keys.count);
    bool fetch = true;  // the next values, while the first queries are at work
    for (int next = 0; next < set.count;) {
      work.queries = 0;
      Position first = at;
      for (; next < set.count; ++next) {
        const Query& query = set.query[next];
        if (query.first >= end || query.last <= at) continue;
        const Share share = ShareOf(query, at, end);
        const int64_t count = share.last - share.first;
        if (work.queries == 0) {
          first = share.first;
          work.count = count;
        } else if (share.first != first || count != work.count) {
          break;
        }
        Exponentials(share.scores, count, *query.head->top);
        AddByPosition(share.scores, share.first, count, query.head->lanes);
        for (int64_t i = 0; i < kValueChunk; i += 16) hwy::Prefetch(share.scores + count + i);
        work.e[work.queries] = share.scores;
        work.out[work.queries++] = query.head->out;
      }
      if (work.queries == 0) break;
      work.values = values + (first - keys.first) * work.stride;
      AddValues<Element>(work, shape.head_dim, fetch);
      fetch = false;
    }
  }
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
