// Linear layers out of register tiles: few rows with weights expanded on the way, or many rows with
// weights expanded into a panel first. See tile-inl.h for what a Source is. Here it has also
//   const uint8_t* at(int64_t c, int64_t k)     where input k (a multiple of 16) of column c lies
//   int64_t column_bytes()                      from one column to the next
//   void fetch_scales(int64_t c, int64_t n)     fetches what n columns from c on keep elsewhere
//   void expand(int64_t c, int64_t k, int64_t count, float* out)
//                                               `count` (a multiple of 16) weights from k on
//   void prefetch(int64_t c, int64_t k, int64_t count)   fetches them
//   kPacks                                      whether load_x() changes the order of lanes
#if defined(SPINDRIFT_KERNELS_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_LINEAR_INL_H_
#undef SPINDRIFT_KERNELS_LINEAR_INL_H_
#else
#define SPINDRIFT_KERNELS_LINEAR_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kernels/contract.h"
#include "kernels/lane16-inl.h"
#include "kernels/targets.h"
#include "kernels/tile-inl.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

inline constexpr int kDirectRows = 16;  // most rows of LinearFew
inline constexpr int kBlockRows = 128;  // rows that share one expansion of the weights
// Inputs of an expanded panel, of which a tile's columns stay in the first-level cache.
inline constexpr int64_t kPanelK = HWY_CAP_GE512 ? 1024 : 512;
inline constexpr int64_t kPanelStride = kPanelK + 16;  // columns start in different cache sets
inline constexpr int64_t kPageBytes = 4096;
inline constexpr int64_t kMostInputs = 2048;  // of a tile: they stay in the caches next to the core

// Folds, scales and adds biases: y[r][c] of `rows` rows and columns [first, last), whose sums lie
// in rows of `block` columns.
template <class Source>
void Finish(const Source& source, const float* acc, int rows, int block, const Epilogue& epilogue,
            int64_t first, int64_t last, float* const* y) {
  alignas(64) float out[kBlockRows * kBlockColumns];
  FoldSums(source, acc, int64_t{rows} * block, epilogue.scale, out);
  const auto count = static_cast<size_t>(last - first);
  for (int r = 0; r < rows; ++r) {
    float* from = out + r * block;
    if (!epilogue.bias.empty()) {
      for (size_t c = 0; c < count; ++c) from[c] += epilogue.bias[static_cast<size_t>(first) + c];
    }
    std::memcpy(y[r] + first, from, count * sizeof(float));
  }
}

// How a call walks through its weights: blocks of columns, of each a stretch of inputs at a time,
// of that one tile after the other.
struct Walk {
  int64_t columns;  // of a tile
  int64_t block;    // columns of a block
  int64_t stretch;  // inputs
  int64_t whole;    // inputs, rounded down to whole steps
};

// What comes after tiles [first, last) of the block at c and its inputs from k on. Lines of one
// page are fetched in ascending order: memory is read ahead by page, one stream in each.
template <class Source>
HWY_INLINE Ahead AheadOf(const Source& source, const Walk& walk, int64_t c, int64_t end,
                         int64_t first, int64_t k) {
  const int64_t bytes = source.column_bytes();
  const int64_t tile = walk.columns * bytes;
  const int64_t last_tile = (end - 1 - first) / walk.columns * walk.columns;
  if (walk.stretch == walk.whole && bytes < kPageBytes) {
    const uint8_t* at = source.at(first, 0) + std::max(tile, kPageBytes);
    return {at, at + last_tile * bytes, 64 * walk.columns, 64, tile};
  }
  const int64_t next = k + walk.stretch;
  const uint8_t* last = next < walk.whole ? source.at(c, next) : source.at(end, 0);
  return {source.at(first + walk.columns, k), last, 64, bytes, tile};
}

// An Ahead that also fetches what columns keep elsewhere, a tile's share before each tile: more at
// once would hold up the weights that are being waited for.
template <class Source>
struct AheadWithScales : Ahead {
  const Source* source;
  int64_t scales_of;  // column
  int64_t columns;    // 0: nothing

  HWY_INLINE const uint8_t* next(bool is_last) {
    source->fetch_scales(scales_of, columns);
    scales_of += columns;
    return Ahead::next(is_last);
  }
};

// The rows of a call in tiles of nearly equal height, which must all be of the same width.
struct RowTiles {
  int rows, count, height;
  bool even;  // all of full height: the last row stands in for those that are missing
  int next(int done, int tile) const { return even ? height : (rows - done) / (count - tile); }
  int all() const { return even ? count * height : rows; }
};
template <class Source>
RowTiles TilesOf(int rows) {
  const int count = tile_count(rows, Source::tile_rows(rows));
  const int height = tile_count(rows, count);
  return {rows, count, height, Source::tile_columns(rows / count) != Source::tile_columns(height)};
}

// What LinearFew reads: the rows as they are, the last one repeated, or `packed`, tile by tile as
// PackedInputs has them.
struct FewInputs {
  const float* rows[kDirectRows + kMaxTileRows];
  const float* packed = nullptr;
};

// Up to kDirectRows rows: every weight is expanded into registers, where all rows of a tile use it.
template <class Inputs, class Source>
void LinearDirect(const Source& source, int64_t in, const RowTiles& tiles, const FewInputs& x,
                  OutRows y, Columns columns, const Epilogue& epilogue) {
  alignas(64) float acc[(kDirectRows + kMaxTileRows) * kBlockColumns * 16];
  Walk walk;
  walk.columns = Source::tile_columns(tiles.height);
  walk.block = block_columns(static_cast<int>(walk.columns));
  walk.whole = in / 16 * 16;
  walk.stretch = std::min<int64_t>(walk.whole, kMostInputs);
  const int64_t row = walk.block * 16;  // floats from one row's sums to the next one's
  std::memset(acc, 0, sizeof(float) * static_cast<size_t>((tiles.rows + 1) * row));
  const auto inputs = [&](int first) {
    if constexpr (std::is_same_v<Inputs, PackedInputs>) {
      return PackedInputs{x.packed + first * walk.whole};
    } else {
      return RowInputs{x.rows + first};
    }
  };
  for (int64_t c = columns.first; c < columns.last; c += walk.block) {
    const int64_t end = std::min(c + walk.block, columns.last);
    int64_t k = 0;
    do {
      const int64_t next = std::min(k + walk.stretch, walk.whole);
      // Scales of the next block come while this one's first inputs are at work.
      const int64_t scale_columns = k == 0 ? walk.columns : 0;
      if (tiles.count == 1) {
        AheadWithScales<Source> ahead{AheadOf(source, walk, c, end, c, k), &source, end,
                                      scale_columns};
        AccumulateTile(source, c, end, tiles.rows, inputs(0), k, next, k == 0, {acc, row}, ahead);
      } else {
        // Each tile of rows fetches its part of what comes next.
        const int64_t lines = (next - k) / 16 / Source::kFetchSteps;
        for (int64_t first = c; first < end; first += walk.columns) {
          const int64_t last = std::min(first + walk.columns, end);
          Ahead ahead = AheadOf(source, walk, c, end, first, k);
          source.fetch_scales(end + first - c, scale_columns);
          ahead.last = last == end ? ahead.last : ahead.at;
          ahead.line /= tiles.count;
          for (int t = 0, r = 0; t < tiles.count; ++t) {
            const int height = tiles.next(r, t);
            AccumulateTile(source, first, last, height, inputs(r), k, next, k == 0,
                           {acc + r * row + (first - c) * 16, row}, ahead);
            ahead.last += lines * ahead.line;
            r += height;
          }
        }
      }
      k = next;
    } while (k < walk.whole);
    if (walk.whole < in) {
      AccumulateTail<Source>(source, c, end, tiles.rows, x.rows, walk.whole, in, {acc, row});
    }
    Finish(source, acc, tiles.rows, static_cast<int>(walk.block), epilogue, c, end, y.data());
  }
}

// Brings inputs together as PackedInputs wants them, tile by tile.
template <class Source>
void PackInputs(const Source& source, int64_t whole, const RowTiles& tiles, const FewInputs& x,
                float* packed) {
  for (int t = 0, first = 0; t < tiles.count; ++t) {
    const int height = tiles.next(first, t);
    for (int r = 0; r < height; ++r) {
      const float* from = x.rows[first + r];
      float* to = packed + first * whole + r * 16;
      for (int64_t k = 0; k < whole; k += 16) Store16(source.load_x(from + k), to + k * height);
    }
    first += height;
  }
}

inline constexpr int64_t kPackedFloats = 65536;  // of a call's packed inputs, at most

template <class Source>
void LinearPacked(const Source& source, int64_t in, const RowTiles& tiles, FewInputs& x, OutRows y,
                  Columns columns, const Epilogue& epilogue) {
  alignas(64) float packed[kPackedFloats];
  PackInputs(source, in / 16 * 16, tiles, x, packed);
  x.packed = packed;
  LinearDirect<PackedInputs>(source, in, tiles, x, y, columns, epilogue);
}

// Up to kDirectRows rows. Inputs are packed where many columns use them.
template <class Source>
void LinearFew(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
               const Epilogue& epilogue) {
  const int rows = static_cast<int>(x.size());
  const RowTiles tiles = TilesOf<Source>(rows);
  FewInputs inputs;
  for (int r = 0; r < kDirectRows + kMaxTileRows; ++r) {
    inputs.rows[r] = x[static_cast<size_t>(std::min(r, rows - 1))];
  }
  if ((rows > 1 || Source::kPacks) && columns.last - columns.first >= 64 &&
      tiles.all() * in <= kPackedFloats) {
    LinearPacked(source, in, tiles, inputs, y, columns, epilogue);
  } else {
    LinearDirect<RowInputs>(source, in, tiles, inputs, y, columns, epilogue);
  }
}

// Expanded weights: column c of the block holds kPanelK inputs from k_ on.
class PanelSource {
 public:
  using Cursor = const float*;
#if HWY_CAP_GE512
  static constexpr int kTileRows = 6;
#else
  static constexpr int kTileRows = WideTiles::kTileRows;
#endif
  static constexpr int tile_columns(int rows) { return WideTiles::tile_columns(rows); }
  static constexpr int kFetchSteps = 4;
  static constexpr bool kFetchColumns = false;

  PanelSource(const float* panel, int64_t first_column, int64_t k)
      : panel_(panel), first_column_(first_column), k_(k) {}
  HWY_INLINE Cursor cursor(int64_t c) const {
    return panel_ + (c - first_column_) * kPanelStride - k_;
  }
  HWY_INLINE Vec16 load(const Cursor& at, int64_t step) const { return Load16(at + step * 16); }
  HWY_INLINE Vec16 load_x(const float* x) const { return Load16(x); }
  HWY_INLINE Vec16 natural(Vec16 v) const { return v; }

 private:
  const float* panel_;
  int64_t first_column_;
  int64_t k_;
};

// Fetches the weights of the next panel, columns [first, last) from input k on, while `tiles` tiles
// work on the current one: a part of a column during each, or a few columns before it.
template <class Source>
class PanelAhead {
 public:
  int64_t line;
  static constexpr int64_t column = 0;

  PanelAhead(const Source& source, int64_t first, int64_t last, int64_t k, int64_t count, int tiles)
      : source_(source),
        first_(first),
        last_(last),
        k_(k),
        count_(count),
        bytes_(source.at(0, count) - source.at(0, 0)),
        parts_(std::max(tiles / kBlockColumns, 1)),
        columns_((kBlockColumns + tiles - 1) / tiles) {
    const int64_t times = std::max<int64_t>(count / 16 / PanelSource::kFetchSteps, 1);
    line = bytes_ / parts_ / times + 1;
  }

  HWY_INLINE const uint8_t* next(bool) {
    for (int i = 1; i < columns_ && first_ + 1 < last_; ++i) source_.prefetch(first_++, k_, count_);
    const uint8_t* now = source_.at(std::min(first_, last_ - 1), k_) + bytes_ * part_ / parts_;
    part_ = part_ + 1 == parts_ ? 0 : part_ + 1;
    if (part_ == 0) ++first_;
    return now;
  }

 private:
  const Source& source_;
  int64_t first_, last_, k_, count_;
  int64_t bytes_;  // of a column's share
  int parts_, columns_;
  int part_ = 0;
};

// Many rows: weights are expanded into a panel that up to kBlockRows rows read from the cache.
template <class Source>
void LinearPanel(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  alignas(64) float acc[kBlockRows * kBlockColumns * 16];
  alignas(64) float panel[kBlockColumns * kPanelStride];
  constexpr int64_t kRow = kBlockColumns * 16;
  const int64_t whole = in / 16 * 16;
  std::memset(acc, 0, sizeof(float) * std::min<size_t>(kBlockRows, x.size()) * kRow);
  std::memset(panel, 0, sizeof(panel));
  for (size_t row = 0; row < x.size(); row += kBlockRows) {
    const int rows = static_cast<int>(std::min<size_t>(kBlockRows, x.size() - row));
    const int tiles = tile_count(rows, PanelSource::kTileRows);
    const float* const* inputs = x.data() + row;
    for (int64_t c = columns.first; c < columns.last; c += kBlockColumns) {
      const int64_t end = std::min(c + kBlockColumns, columns.last);
      source.fetch_scales(end, kBlockColumns);
      int64_t k = 0;
      do {
        const int64_t next = std::min(k + kPanelK, whole);
        for (int64_t i = c; i < end; ++i) {
          source.expand(i, k, next - k, panel + (i - c) * kPanelStride);
        }
        const bool more = next < whole;  // of these columns
        const int64_t next_k = more ? next : 0;
        PanelAhead<Source> ahead(source, more ? c : end, more ? end : end + kBlockColumns, next_k,
                                 std::min(kPanelK, whole - next_k), tiles * 4);
        for (int t = 0, r = 0; t < tiles; ++t) {
          const int height = (rows - r) / (tiles - t);
          AccumulateTile(PanelSource(panel, c, k), c, end, height, RowInputs{inputs + r}, k, next,
                         k == 0, {acc + r * kRow, kRow}, ahead);
          r += height;
        }
        k = next;
      } while (k < whole);
      if (whole < in) AccumulateTail(source, c, end, rows, inputs, whole, in, {acc, kRow});
      Finish(PanelSource(panel, c, 0), acc, rows, kBlockColumns, epilogue, c, end, y.data() + row);
    }
  }
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
