// Dot products of several rows with several columns in Lane16 order, in register tiles. Columns
// come from a Source: weights of one stored format, keys of a cache, or a panel of weights that
// were expanded before.
//
// A Source has
//   Cursor cursor(int64_t c)             where column c starts
//   Vec16 load(const Cursor&, int64_t k)  sixteen weights from k on (k % 16 == 0)
//   Vec16 load_x(const float*)            sixteen inputs in the lane order of load()
//   Vec16 natural(Vec16)                  from the lane order of load() to ascending lanes
//   float scalar(int64_t c, int64_t k)    one weight
#if defined(SPINDRIFT_KERNELS_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_LINEAR_INL_H_
#undef SPINDRIFT_KERNELS_LINEAR_INL_H_
#else
#define SPINDRIFT_KERNELS_LINEAR_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/contract.h"
#include "kernels/lane16-inl.h"
#include "kernels/targets.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

// Rows of a register tile, and its columns for so many rows: what the registers hold.
#if HWY_CAP_GE512
inline constexpr int kTileRows = 6;
constexpr int tile_columns(int rows) { return rows <= 3 ? 8 : 4; }
#elif HWY_CAP_GE256
inline constexpr int kTileRows = 3;
constexpr int tile_columns(int rows) { return rows == 1 ? 4 : 2; }
#else
inline constexpr int kTileRows = 2;
constexpr int tile_columns(int rows) { return rows == 1 ? 2 : 1; }
#endif

inline constexpr int kBlockColumns = 16;  // columns that are accumulated and folded together
inline constexpr int kBlockRows = 64;     // rows that share one expansion of the weights
inline constexpr int64_t kPanelK = 512;   // inputs of an expanded panel

// Partial sums of a block: [row][column][lane].
struct alignas(64) Accumulators {
  float* row(int r) { return &lanes[r * kBlockColumns * 16]; }
  float lanes[kBlockRows * kBlockColumns * 16];
};

// Adds inputs [k0, k1) of `rows` rows and `columns` columns to acc; (k1 - k0) % 16 == 0.
template <class Source, int kRows, int kColumns>
HWY_INLINE void Tile(const Source& source, int64_t first_column, int64_t last_column,
                     const float* const* x, int64_t k0, int64_t k1, bool start, float* acc) {
  typename Source::Cursor cursors[kColumns];
  // Columns past the end repeat the last one; nobody reads their sums.
  for (int c = 0; c < kColumns; ++c) {
    cursors[c] = source.cursor(std::min(first_column + c, last_column));
  }
  const float* inputs[kRows];
  for (int r = 0; r < kRows; ++r) inputs[r] = x[r];

  Vec16 sums[kRows][kColumns];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) {
      sums[r][c] = start ? Zero16() : Load16(acc + (r * kBlockColumns + c) * 16);
    }
  }
  for (int64_t k = k0; k < k1; k += 16) {
    Vec16 w[kColumns];
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) w[c] = source.load(cursors[c], k);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Vec16 in = source.load_x(inputs[r] + k);
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) sums[r][c] = Fma16(in, w[c], sums[r][c]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) Store16(sums[r][c], acc + (r * kBlockColumns + c) * 16);
  }
}

template <class Source, int kRows>
HWY_NOINLINE void TileRow(const Source& source, int64_t first, int64_t last, const float* const* x,
                          int64_t k0, int64_t k1, bool start, float* acc) {
  constexpr int kColumns = tile_columns(kRows);
  for (int64_t c = first; c < last; c += kColumns) {
    Tile<Source, kRows, kColumns>(source, c, last - 1, x, k0, k1, start, acc + (c - first) * 16);
  }
}

// Adds inputs [k0, k1) of `rows` rows (at most kTileRows) and columns [first, last) (at most
// kBlockColumns) to acc, whole steps of 16 only.
template <class Source>
HWY_INLINE void AccumulateRows(const Source& source, int64_t first, int64_t last, int rows,
                               const float* const* x, int64_t k0, int64_t k1, bool start,
                               float* acc) {
  switch (rows) {
    case 1:
      return TileRow<Source, 1>(source, first, last, x, k0, k1, start, acc);
    case 2:
      return TileRow<Source, 2>(source, first, last, x, k0, k1, start, acc);
#if HWY_CAP_GE256
    case 3:
      return TileRow<Source, 3>(source, first, last, x, k0, k1, start, acc);
#endif
#if HWY_CAP_GE512
    case 4:
      return TileRow<Source, 4>(source, first, last, x, k0, k1, start, acc);
    case 5:
      return TileRow<Source, 5>(source, first, last, x, k0, k1, start, acc);
    case 6:
      return TileRow<Source, 6>(source, first, last, x, k0, k1, start, acc);
#endif
    default:
      __builtin_unreachable();
  }
}

// The same for any number of rows, in tiles of nearly equal height.
template <class Source>
HWY_INLINE void Accumulate(const Source& source, int64_t first, int64_t last, int rows,
                           const float* const* x, int64_t k0, int64_t k1, bool start, float* acc) {
  const int tiles = (rows + kTileRows - 1) / kTileRows;
  for (int t = 0, r = 0; t < tiles; ++t) {
    const int height = (rows - r) / (tiles - t);
    AccumulateRows(source, first, last, height, x + r, k0, k1, start, acc + r * kBlockColumns * 16);
    r += height;
  }
}

// The last in % 16 inputs, which fill only the first lanes.
template <class Source>
void AccumulateTail(const Source& source, int64_t first, int64_t last, int rows,
                    const float* const* x, int64_t k0, int64_t k1, float* acc) {
  for (int r = 0; r < rows; ++r) {
    for (int64_t c = first; c < last; ++c) {
      float* lanes = acc + (r * kBlockColumns + (c - first)) * 16;
      for (int64_t k = k0; k < k1; ++k) {
        lanes[k - k0] = std::fma(x[r][k], source.scalar(c, k), lanes[k - k0]);
      }
    }
  }
}

// out[c] = the fold of column c's sums, for all kBlockColumns columns.
template <class Source>
HWY_INLINE void FoldColumns(const Source& source, const float* acc, float* out) {
  for (int c = 0; c < kBlockColumns; c += kLanes) {
    Floats s[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      s[i] = FoldRegisters(source.natural(Load16(acc + (c + i) * 16)));
    }
    hn::StoreU(FoldTransposed(s), FloatTag(), out + c);
  }
}

template <class Source>
void Finish(const Source& source, const float* acc, const Epilogue& epilogue, int64_t first,
            int64_t last, float* y) {
  HWY_ALIGN float out[kBlockColumns];
  FoldColumns(source, acc, out);
  const auto count = static_cast<size_t>(last - first);
  const FloatTag df;
  const Floats scale = hn::Set(df, epilogue.scale);
  for (int c = 0; c < kBlockColumns; c += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(df, out + c), scale), df, out + c);
  }
  if (!epilogue.bias.empty()) {
    for (size_t c = 0; c < count; ++c) out[c] += epilogue.bias[static_cast<size_t>(first) + c];
  }
  std::memcpy(y + first, out, count * sizeof(float));
}

// Expanded weights: column c of the block holds kPanelK inputs from k_ on.
class PanelSource {
 public:
  using Cursor = const float*;
  PanelSource(const float* panel, int64_t first_column, int64_t k)
      : panel_(panel), first_column_(first_column), k_(k) {}
  HWY_INLINE Cursor cursor(int64_t c) const { return panel_ + (c - first_column_) * kPanelK - k_; }
  HWY_INLINE Vec16 load(const Cursor& at, int64_t k) const { return Load16(at + k); }
  HWY_INLINE Vec16 load_x(const float* x) const { return Load16(x); }
  HWY_INLINE Vec16 natural(Vec16 v) const { return v; }

 private:
  const float* panel_;
  int64_t first_column_;
  int64_t k_;
};

// Up to Source::kDirectRows rows: every weight is expanded into registers, where all rows use it.
template <class Source>
void LinearDirect(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
                  const Epilogue& epilogue) {
  alignas(64) float acc[kTileRows * kBlockColumns * 16];
  const int rows = static_cast<int>(x.size());
  const int64_t whole = in / 16 * 16;
  // The inputs of one pass stay in the first-level cache.
  const int64_t step = std::max<int64_t>(6144 / rows / 16 * 16, 512);
  std::memset(acc, 0, sizeof(acc));
  for (int64_t c = columns.first; c < columns.last; c += kBlockColumns) {
    const int64_t end = std::min(c + kBlockColumns, columns.last);
    int64_t k = 0;
    do {
      const int64_t next = std::min(k + step, whole);
      AccumulateRows(source, c, end, rows, x.data(), k, next, k == 0, acc);
      k = next;
    } while (k < whole);
    if (whole < in) AccumulateTail(source, c, end, rows, x.data(), whole, in, acc);
    for (int r = 0; r < rows; ++r) {
      Finish(source, acc + r * kBlockColumns * 16, epilogue, c, end, y[static_cast<size_t>(r)]);
    }
  }
}

// Many rows: weights are expanded into a panel that up to kBlockRows rows read from the cache.
// Source::expand(c, k, count, out) writes `count` (a multiple of 16) weights of column c from k on.
template <class Source>
void LinearPanel(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  Accumulators acc;
  alignas(64) float panel[kBlockColumns * kPanelK];
  const int64_t whole = in / 16 * 16;
  std::memset(acc.lanes, 0, sizeof(acc.lanes));
  for (size_t row = 0; row < x.size(); row += kBlockRows) {
    const int rows = static_cast<int>(std::min<size_t>(kBlockRows, x.size() - row));
    const float* const* inputs = x.data() + row;
    for (int64_t c = columns.first; c < columns.last; c += kBlockColumns) {
      const int64_t end = std::min(c + kBlockColumns, columns.last);
      int64_t k = 0;
      do {
        const int64_t next = std::min(k + kPanelK, whole);
        for (int64_t i = c; i < end; ++i) {
          source.expand(i, k, next - k, panel + (i - c) * kPanelK);
        }
        Accumulate(PanelSource(panel, c, k), c, end, rows, inputs, k, next, k == 0, acc.lanes);
        k = next;
      } while (k < whole);
      if (whole < in) AccumulateTail(source, c, end, rows, inputs, whole, in, acc.lanes);
      for (int r = 0; r < rows; ++r) {
        Finish(PanelSource(panel, c, 0), acc.row(r), epilogue, c, end,
               y[row + static_cast<size_t>(r)]);
      }
    }
  }
}

template <class Source>
HWY_INLINE void Linear(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
                       const Epilogue& epilogue) {
  if (x.empty()) return;
  if (x.size() <= static_cast<size_t>(Source::kDirectRows)) {
    LinearDirect(source, in, x, y, columns, epilogue);
  } else {
    LinearPanel(source, in, x, y, columns, epilogue);
  }
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
