#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
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
#include "kernels/math-inl.h"
#include "kernels/simd.h"
#include "kernels/tile-inl.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

constexpr int kValueRows = HWY_CAP_GE512 ? 6 : HWY_CAP_GE256 ? 3 : 2;
constexpr int64_t kValueChunk = 64;   // positions whose values are worked on together
constexpr int64_t kMaxQueries = 128;  // query heads of one pass

// One query head of one row, and its part of the scratch: a line of scores, sixteen lanes (first of
// maxima, then of partial sums) and the maximum.
struct Head {
  const float* q;
  float* out;
  float* line;
  float* lanes;
  float* top;
};

// A head's view of keys that it shares with others.
struct Query {
  const Head* head;
  Position first, last;
  float* scores;  // of `first`
};

// The heads that see one run of shared keys.
struct QuerySet {
  Position all_first = 0, all_last = 0;  // what every one of them sees
  int count = 0;
  Query query[kMaxQueries];
};

void CollectQueries(const SharedKeys& shared, std::span<const Head> heads, int64_t group,
                    QuerySet& set) {
  set.count = 0;
  set.all_first = shared.keys.first;
  set.all_last = shared.keys.first + shared.keys.count;
  for (size_t i = 0; i < shared.parts; ++i) {
    const SharedKeys::Part& part = shared.part[i];
    set.all_first = std::max(set.all_first, part.first);
    set.all_last = std::min(set.all_last, part.last);
    const Head* row = heads.data() + static_cast<int64_t>(part.row) * group;
    for (int64_t h = 0; h < group; ++h) {
      set.query[set.count++] = {row + h, part.first, part.last, row[h].line + part.slot};
    }
  }
}

// What a query sees of positions [first, last): its own range and the scores of that.
struct Share {
  Position first, last;
  float* scores;
};
HWY_INLINE Share ShareOf(const Query& q, Position first, Position last) {
  first = std::max(first, q.first);
  return {first, std::min(last, q.last), q.scores + (first - q.first)};
}

#if HWY_CAP_GE512

constexpr int kScoreRows = 4;

// dots[r] = scaled products of query r with sixteen keys, from the folds of 16 / kRows keys at a
// time: register t of `folds` holds keys t * 16 / kRows and on of every query.
template <int kRows>
HWY_INLINE void Arrange(const Floats* folds, float (*dots)[16]) {
  const FloatTag df;
  if constexpr (kRows == 1) {
    hn::Store(folds[0], df, dots[0]);
  } else if constexpr (kRows == 2) {
    hn::Store(hn::ConcatLowerLower(df, folds[1], folds[0]), df, dots[0]);
    hn::Store(hn::ConcatUpperUpper(df, folds[1], folds[0]), df, dots[1]);
  } else {
    // A transposition of four by four blocks of four lanes.
    const __m512 a = _mm512_shuffle_f32x4(folds[0].raw, folds[1].raw, 0x44);
    const __m512 b = _mm512_shuffle_f32x4(folds[2].raw, folds[3].raw, 0x44);
    const __m512 c = _mm512_shuffle_f32x4(folds[0].raw, folds[1].raw, 0xee);
    const __m512 d = _mm512_shuffle_f32x4(folds[2].raw, folds[3].raw, 0xee);
    _mm512_store_ps(dots[0], _mm512_shuffle_f32x4(a, b, 0x88));
    _mm512_store_ps(dots[1], _mm512_shuffle_f32x4(a, b, 0xdd));
    _mm512_store_ps(dots[2], _mm512_shuffle_f32x4(c, d, 0x88));
    _mm512_store_ps(dots[3], _mm512_shuffle_f32x4(c, d, 0xdd));
  }
}

// The partial sums of the last dim % 16 features, added lane by lane.
template <class Source, int kColumns>
HWY_NOINLINE void ScoreTail(const Source& source, int64_t key, int64_t last, int64_t dim,
                            const float* const* inputs, float (*sums)[16]) {
  for (int i = 0; i < 16; ++i) {
    const int64_t column = std::min(key + i % kColumns, last);
    for (int64_t d = dim / 16 * 16; d < dim; ++d) {
      float& lane = sums[i][d % 16];
      lane = std::fma(inputs[i / kColumns][d], source.scalar(column, d), lane);
    }
  }
}

// Scores of kRows queries and sixteen keys from `key` on. Sixteen dot products at a time are folded
// together, without leaving the registers.
template <class Source, int kRows>
HWY_NOINLINE void ScoreTile(const Source& source, int64_t key, int64_t last, int64_t dim,
                            const float* const* inputs, float scale, bool fetch,
                            float (*dots)[16]) {
  constexpr int kColumns = 16 / kRows;
  const FloatTag df;
  Floats folds[kRows];
  for (int t = 0; t < kRows; ++t) {
    const int64_t first = key + t * kColumns;
    typename Source::Cursor cursors[kColumns];
    for (int i = 0; i < kColumns; ++i) cursors[i] = source.cursor(std::min(first + i, last));
    Floats sums[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sums[i] = hn::Zero(df);
    for (int64_t step = 0; step < dim / 16; ++step) {
      Floats k[kColumns];
#pragma GCC unroll 16
      for (int i = 0; i < kColumns; ++i) k[i] = source.load(cursors[i], step).v[0];
      if (fetch) {
#pragma GCC unroll 16
        for (int i = 0; i < kColumns; ++i) hwy::Prefetch(source.at(first + i + 16, step * 16));
      }
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        Vec16 q = Load16(inputs[r] + step * 16);
        KeepInRegisters(q);
#pragma GCC unroll 16
        for (int i = 0; i < kColumns; ++i) {
          sums[r * kColumns + i] = Fma(q.v[0], k[i], sums[r * kColumns + i]);
        }
      }
    }
    if (dim % 16 != 0) {
      HWY_ALIGN float lanes[16][16];
      for (int i = 0; i < 16; ++i) hn::Store(sums[i], df, lanes[i]);
      ScoreTail<Source, kColumns>(source, first, last, dim, inputs, lanes);
      for (int i = 0; i < 16; ++i) sums[i] = hn::Load(df, lanes[i]);
    }
    folds[t] = hn::Mul(FoldTransposed(sums), Splat(scale));
  }
  Arrange<kRows>(folds, dots);
}

// Three queries take the tile of four, the last one twice.
template <class Source>
HWY_INLINE void ScoreBlock(const Source& source, int64_t key, int64_t end, int64_t dim, int rows,
                           const float** inputs, float scale, bool fetch, float (*dots)[16]) {
  if (rows == 1) return ScoreTile<Source, 1>(source, key, end - 1, dim, inputs, scale, fetch, dots);
  if (rows == 2) return ScoreTile<Source, 2>(source, key, end - 1, dim, inputs, scale, fetch, dots);
  if (rows == 3) inputs[3] = inputs[2];
  ScoreTile<Source, 4>(source, key, end - 1, dim, inputs, scale, fetch, dots);
}

#else

constexpr int kScoreRows = kMaxTileRows;

template <class Source>
HWY_INLINE void ScoreBlock(const Source& source, int64_t key, int64_t end, int64_t dim, int rows,
                           const float** inputs, float scale, bool fetch, float (*out)[16]) {
  static_cast<void>(fetch);  // the tile does
  constexpr int64_t kRow = kBlockColumns * 16;
  alignas(64) float acc[kScoreRows * kRow] = {};
  const int64_t whole = dim / 16 * 16;
  const int64_t columns = Source::tile_columns(rows), bytes = source.column_bytes();
  const uint8_t* after = source.at(key + kBlockColumns, 0);
  Ahead ahead{after, after + (kBlockColumns - columns) * bytes, 64, bytes, columns * bytes};
  AccumulateTile(source, key, end, rows, RowInputs{inputs}, 0, whole, true, {acc, kRow}, ahead);
  if (whole < dim) AccumulateTail(source, key, end, rows, inputs, whole, dim, {acc, kRow});
  FoldSums(source, acc, int64_t{rows} * kBlockColumns, scale, out[0]);
}

#endif

// Stores a query's share of the scores of a block whose first key is at position `at`, and keeps
// the maxima.
HWY_INLINE void KeepScores(const Query& query, Position at, Position end, const float* block) {
  const Share share = ShareOf(query, at, end);
  float* lanes = query.head->lanes;
  const int64_t count = share.last - share.first;
  if (count == kBlockColumns) {
    const Vec16 v = Load16(block);
    Vec16 best = Load16(lanes);
    for (int i = 0; i < kRegs; ++i) best.v[i] = hn::Max(best.v[i], v.v[i]);
    Store16(v, share.scores);
    Store16(best, lanes);
    hwy::Prefetch(share.scores + kBlockColumns);
    return;
  }
  block += share.first - at;
  for (int64_t i = 0; i < count; ++i) {
    share.scores[i] = block[i];
    lanes[i] = std::max(lanes[i], block[i]);
  }
}

// scale * q.k of every query and key of a run.
template <class Source>
void ScoreKeys(const Source& source, const KeySegment& keys, const QuerySet& set,
               const AttentionShape& shape) {
  HWY_ALIGN float dots[kScoreRows][16];
  for (int64_t key = 0; key < keys.count; key += kBlockColumns) {
    const int64_t key_end = std::min<int64_t>(key + kBlockColumns, keys.count);
    const Position at = keys.first + key;
    const Position end = keys.first + key_end;
    bool fetch = true;  // the next keys, while the first queries are at work
    for (int next = 0; next < set.count;) {
      const Query* queries[kScoreRows];
      const float* inputs[kScoreRows];
      int height = 0;
      for (; next < set.count && height < kScoreRows; ++next) {
        const Query& query = set.query[next];
        if (query.first >= end || query.last <= at) continue;
        queries[height] = &query;
        inputs[height++] = query.head->q;
      }
      if (height == 0) break;
      ScoreBlock(source, key, key_end, shape.head_dim, height, inputs, shape.scale, fetch, dots);
      for (int i = 0; i < height; ++i) KeepScores(*queries[i], at, end, dots[i]);
      fetch = false;
    }
  }
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
