// Dot products of several rows with several columns in Lane16 order, in register tiles. Columns
// come from a Source: weights of one stored format, keys of a cache, or a panel of weights that
// were expanded before.
//
// A Source has
//   kTileRows, tile_columns(rows)         the tiles that suit it
//   Cursor cursor(int64_t c)              where column c starts
//   Vec16 load(const Cursor&, int64_t s)  the sixteen weights of step s: inputs 16 s and on
//   Vec16 load_x(const float*)            sixteen inputs in the lane order of load()
//   Vec16 natural(Vec16)                  from the lane order of load() to ascending lanes
//   kFetchSteps, fetch(cursor, s, tile)   steps in a cache line of weights (0: fetch nothing), and
//                                         fetches step s of a column at least `tile` further on
//   float scalar(int64_t c, int64_t k)    one weight
// A Source whose weights share scales has also
//   Group group(const Cursor&, int64_t s)  what the weights from step s on share
//   int64_t group_end(int64_t s)           the step where the next group begins
// and load() takes the Group between Cursor and step. One that leaves inputs over after whole steps
// in an order of its own has
//   static int lane(int i)                where load() puts the i-th of sixteen
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

// Tiles of a source whose weights are cheap to load: as many columns as the registers leave.
#if HWY_CAP_GE512
inline constexpr int kMaxTileRows = 8;
struct WideTiles {
  static constexpr int kTileRows = 8;
  static constexpr int tile_columns(int rows) { return rows <= 3 ? 8 : rows <= 6 ? 4 : 2; }
};
#elif HWY_CAP_GE256
inline constexpr int kMaxTileRows = 3;
struct WideTiles {
  static constexpr int kTileRows = 3;
  static constexpr int tile_columns(int rows) { return rows == 1 ? 4 : 2; }
};
#else
inline constexpr int kMaxTileRows = 2;
struct WideTiles {
  static constexpr int kTileRows = 2;
  static constexpr int tile_columns(int rows) { return rows == 1 ? 2 : 1; }
};
#endif

inline constexpr int kBlockColumns = 16;      // columns that are accumulated and folded together
inline constexpr int kBlockRows = 64;         // rows that share one expansion of the weights
inline constexpr int64_t kPanelK = 512;       // inputs of an expanded panel
inline constexpr int64_t kPanelStride = 528;  // columns start in different cache sets

template <class Source>
concept Grouped = requires {
  typename Source::Group;
};

struct NoGroup {};

template <class Source>
HWY_INLINE auto GroupOf(const Source& source, const typename Source::Cursor& at, int64_t step) {
  if constexpr (Grouped<Source>) {
    return source.group(at, step);
  } else {
    return NoGroup{};
  }
}

template <class Source>
HWY_INLINE int64_t GroupEnd(const Source& source, int64_t step, int64_t last) {
  if constexpr (Grouped<Source>) {
    return std::min(source.group_end(step), last);
  } else {
    return last;
  }
}

template <class Source, class Group>
HWY_INLINE Vec16 LoadWeights(const Source& source, const typename Source::Cursor& at,
                             const Group& group, int64_t step) {
  if constexpr (Grouped<Source>) {
    return source.load(at, group, step);
  } else {
    return source.load(at, step);
  }
}

// How many columns ahead weights are fetched: about a page, or one tile when that is more.
HWY_INLINE int64_t columns_ahead(int64_t column_bytes) {
  return (4096 + column_bytes - 1) / std::max<int64_t>(column_bytes, 1);
}

// Partial sums of a block: [row][column][lane].
struct alignas(64) Accumulators {
  float* row(int r) { return &lanes[r * kBlockColumns * 16]; }
  float lanes[kBlockRows * kBlockColumns * 16];
};

// Adds inputs [k0, k1) of kRows rows and kColumns columns to acc; (k1 - k0) % 16 == 0.
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
  const int64_t steps = k1 / 16;
  for (int64_t step = k0 / 16; step < steps;) {
    // Memory is not read in order here, so the tile after this one is fetched by hand.
    if constexpr (Source::kFetchSteps > 0) {
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) source.fetch(cursors[c], step, kColumns);
    }
    const int64_t stop =
        Source::kFetchSteps > 0 ? std::min<int64_t>(step + Source::kFetchSteps, steps) : steps;
    while (step < stop) {
      const int64_t end = GroupEnd(source, step, stop);
      decltype(GroupOf(source, cursors[0], step)) groups[kColumns];
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) groups[c] = GroupOf(source, cursors[c], step);
      for (; step < end; ++step) {
        Vec16 w[kColumns];
#pragma GCC unroll 16
        for (int c = 0; c < kColumns; ++c) w[c] = LoadWeights(source, cursors[c], groups[c], step);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r) {
          Vec16 in = source.load_x(inputs[r] + step * 16);
          KeepInRegisters(in);
#pragma GCC unroll 16
          for (int c = 0; c < kColumns; ++c) sums[r][c] = Fma16(in, w[c], sums[r][c]);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) Store16(sums[r][c], acc + (r * kBlockColumns + c) * 16);
  }
}

// Nothing to fetch ahead.
struct NoPrefetch {
  HWY_INLINE void step() const {}
};

template <class Source, int kRows, class Prefetch>
HWY_NOINLINE void TileRow(const Source& source, int64_t first, int64_t last, const float* const* x,
                          int64_t k0, int64_t k1, bool start, float* acc, Prefetch& prefetch) {
  constexpr int kColumns = Source::tile_columns(kRows);
  for (int64_t c = first; c < last; c += kColumns) {
    prefetch.step();
    Tile<Source, kRows, kColumns>(source, c, last - 1, x, k0, k1, start, acc + (c - first) * 16);
  }
}

// Adds inputs [k0, k1) of `rows` rows (at most Source::kTileRows) and columns [first, last) (at
// most kBlockColumns) to acc, whole steps of 16 only.
template <class Source, class Prefetch>
HWY_INLINE void AccumulateTile(const Source& source, int64_t first, int64_t last, int rows,
                               const float* const* x, int64_t k0, int64_t k1, bool start,
                               float* acc, Prefetch& prefetch) {
#define SPINDRIFT_TILE_ROWS(n)                                                                   \
  case n:                                                                                        \
    if constexpr (n <= Source::kTileRows) {                                                      \
      return TileRow<Source, n, Prefetch>(source, first, last, x, k0, k1, start, acc, prefetch); \
    }                                                                                            \
    break;
  switch (rows) {
    SPINDRIFT_TILE_ROWS(1)
    SPINDRIFT_TILE_ROWS(2)
    SPINDRIFT_TILE_ROWS(3)
    SPINDRIFT_TILE_ROWS(4)
    SPINDRIFT_TILE_ROWS(5)
    SPINDRIFT_TILE_ROWS(6)
    SPINDRIFT_TILE_ROWS(7)
    SPINDRIFT_TILE_ROWS(8)
    default:
      break;
  }
#undef SPINDRIFT_TILE_ROWS
  __builtin_unreachable();
}

constexpr int tile_count(int rows, int tile_rows) { return (rows + tile_rows - 1) / tile_rows; }

// The same for any number of rows, in tiles of nearly equal height.
template <class Source, class Prefetch>
HWY_INLINE void Accumulate(const Source& source, int64_t first, int64_t last, int rows,
                           const float* const* x, int64_t k0, int64_t k1, bool start, float* acc,
                           Prefetch& prefetch) {
  const int tiles = tile_count(rows, Source::kTileRows);
  for (int t = 0, r = 0; t < tiles; ++t) {
    const int height = (rows - r) / (tiles - t);
    AccumulateTile(source, first, last, height, x + r, k0, k1, start, acc + r * kBlockColumns * 16,
                   prefetch);
    r += height;
  }
}

struct NaturalOrder {};

// Where the i-th of sixteen sums lies among those that Order's load() made.
template <class Order>
constexpr int LaneOf(int i) {
  if constexpr (requires { Order::lane(i); }) {
    return Order::lane(i);
  } else {
    return i;
  }
}

// The last in % 16 inputs, which fill only the first lanes. acc has the lane order of `Order`.
template <class Order = NaturalOrder, class Source>
void AccumulateTail(const Source& source, int64_t first, int64_t last, int rows,
                    const float* const* x, int64_t k0, int64_t k1, float* acc) {
  for (int r = 0; r < rows; ++r) {
    for (int64_t c = first; c < last; ++c) {
      float* lanes = acc + (r * kBlockColumns + (c - first)) * 16;
      for (int64_t k = k0; k < k1; ++k) {
        float& lane = lanes[LaneOf<Order>(static_cast<int>(k - k0))];
        lane = std::fma(x[r][k], source.scalar(c, k), lane);
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
#if HWY_CAP_GE512
  static constexpr int kTileRows = 6;
#else
  static constexpr int kTileRows = WideTiles::kTileRows;
#endif
  static constexpr int tile_columns(int rows) { return WideTiles::tile_columns(rows); }
  static constexpr int kFetchSteps = 0;

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

// A source whose inputs were brought into its lane order before.
template <class Source>
class PackedSource : public Source {
 public:
  explicit PackedSource(const Source& source) : Source(source) {}
  HWY_INLINE Vec16 load_x(const float* x) const { return Load16(x); }
};

inline constexpr int kDirectRows = 16;  // most rows of LinearDirect

// Few rows: every weight is expanded into registers, where all rows of a tile use it.
template <class Source>
void LinearDirect(const Source& source, int64_t in, const float* const* inputs, InRows x, OutRows y,
                  Columns columns, const Epilogue& epilogue) {
  alignas(64) float acc[kDirectRows * kBlockColumns * 16];
  const int rows = static_cast<int>(x.size());
  const int64_t whole = in / 16 * 16;
  // The inputs of one pass stay in the first-level cache.
  const int64_t step = std::max<int64_t>(6144 / rows / 16 * 16, 512);
  std::memset(acc, 0, static_cast<size_t>(rows) * kBlockColumns * 16 * sizeof(float));
  NoPrefetch none;
  for (int64_t c = columns.first; c < columns.last; c += kBlockColumns) {
    const int64_t end = std::min(c + kBlockColumns, columns.last);
    int64_t k = 0;
    do {
      const int64_t next = std::min(k + step, whole);
      Accumulate(source, c, end, rows, inputs, k, next, k == 0, acc, none);
      k = next;
    } while (k < whole);
    if (whole < in) AccumulateTail<Source>(source, c, end, rows, x.data(), whole, in, acc);
    for (int r = 0; r < rows; ++r) {
      Finish(source, acc + r * kBlockColumns * 16, epilogue, c, end, y[static_cast<size_t>(r)]);
    }
  }
}

// The same on copies of the inputs, aligned and in the lane order of the source: worth it when many
// columns use them. At most kPackedFloats of them.
inline constexpr int64_t kPackedFloats = 32768;

template <class Source>
void LinearPacked(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
                  const Epilogue& epilogue) {
  alignas(64) float packed[kPackedFloats];
  const int64_t whole = in / 16 * 16;
  const float* inputs[kDirectRows];
  for (size_t r = 0; r < x.size(); ++r) {
    float* row = packed + static_cast<int64_t>(r) * whole;
    for (int64_t k = 0; k < whole; k += 16) Store16(source.load_x(x[r] + k), row + k);
    inputs[r] = row;
  }
  LinearDirect(PackedSource<Source>(source), in, inputs, x, y, columns, epilogue);
}

// Up to kDirectRows rows.
template <class Source>
HWY_INLINE void LinearFew(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
                          const Epilogue& epilogue) {
  const auto rows = static_cast<int64_t>(x.size());
  if (rows >= Source::kPackRows && rows * in <= kPackedFloats &&
      columns.last - columns.first >= 64) {
    LinearPacked(source, in, x, y, columns, epilogue);
  } else {
    LinearDirect(source, in, x.data(), x, y, columns, epilogue);
  }
}

// Fetches the weights of the next panel, a few columns before each tile of the current one.
template <class Source>
class PanelPrefetch {
 public:
  PanelPrefetch(const Source& source, int64_t c, int64_t last, int64_t k, int64_t count, int steps)
      : source_(source), c_(c), last_(last), k_(k), count_(count), steps_(steps) {}
  HWY_INLINE void step() {
    const int64_t left = last_ - c_;
    const int64_t now = (left + steps_ - 1) / steps_;
    for (int64_t i = 0; i < now; ++i) source_.prefetch(c_++, k_, count_);
    if (steps_ > 1) --steps_;
  }

 private:
  const Source& source_;
  int64_t c_, last_, k_, count_;
  int steps_;
};

// Many rows: weights are expanded into a panel that up to kBlockRows rows read from the cache.
// Source::expand(c, k, count, out) writes `count` (a multiple of 16) weights of column c from k on;
// Source::prefetch(c, k, count) fetches them.
template <class Source>
void LinearPanel(const Source& source, int64_t in, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  Accumulators acc;
  alignas(64) float panel[kBlockColumns * kPanelStride];
  const int64_t whole = in / 16 * 16;
  std::memset(acc.lanes, 0, sizeof(acc.lanes));
  std::memset(panel, 0, sizeof(panel));
  for (size_t row = 0; row < x.size(); row += kBlockRows) {
    const int rows = static_cast<int>(std::min<size_t>(kBlockRows, x.size() - row));
    const int steps = tile_count(rows, PanelSource::kTileRows) * 4;
    const float* const* inputs = x.data() + row;
    for (int64_t c = columns.first; c < columns.last; c += kBlockColumns) {
      const int64_t end = std::min(c + kBlockColumns, columns.last);
      int64_t k = 0;
      do {
        const int64_t next = std::min(k + kPanelK, whole);
        for (int64_t i = c; i < end; ++i) {
          source.expand(i, k, next - k, panel + (i - c) * kPanelStride);
        }
        const bool more = next < whole;  // of these columns
        const int64_t next_k = more ? next : 0;
        PanelPrefetch<Source> prefetch(source, more ? c : end,
                                       more ? end : std::min(end + kBlockColumns, columns.last),
                                       next_k, std::min(kPanelK, whole - next_k), steps);
        Accumulate(PanelSource(panel, c, k), c, end, rows, inputs, k, next, k == 0, acc.lanes,
                   prefetch);
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

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
