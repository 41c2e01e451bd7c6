// Attention, first half: the query heads that see the same keys, and their scores.
#if defined(SPINDRIFT_KERNELS_ATTENTION_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_ATTENTION_SCORES_INL_H_
#undef SPINDRIFT_KERNELS_ATTENTION_SCORES_INL_H_
#else
#define SPINDRIFT_KERNELS_ATTENTION_SCORES_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/attention_walk.h"
#include "kernels/contract.h"
#include "kernels/lane16-inl.h"
#include "kernels/math-inl.h"
#include "kernels/targets.h"
#include "kernels/tile-inl.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

inline constexpr int64_t kMaxQueries = 128;  // query heads of one pass

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

inline void CollectQueries(const SharedKeys& shared, std::span<const Head> heads, int64_t group,
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

inline constexpr int kScoreRows = 4;

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

inline constexpr int kScoreRows = kMaxTileRows;

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

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
