// Dot products of a few rows with a few columns in Lane16 order, in registers, and the folds that
// finish them. Columns come from a Source: weights of one stored format, keys of a cache, or a
// panel of weights that were expanded before.
//
// A Source has
//   kTileRows, tile_columns(rows)         the tiles that suit it
//   Cursor cursor(int64_t c)              where column c starts
//   Vec16 load(const Cursor&, int64_t s)  the sixteen weights of step s: inputs 16 s and on
//   Vec16 load_x(const float*)            sixteen inputs in the lane order of load()
//   Vec16 natural(Vec16)                  from the lane order of load() to ascending lanes
//   kFetchSteps, kFetchColumns            a tile fetches ahead every so many steps, one line for
//                                         each of its columns or one in all
//   float scalar(int64_t c, int64_t k)    one weight
// A Source whose weights share scales has also
//   Group group(const Cursor&, int64_t s)  what the weights from step s on share
//   int64_t group_end(int64_t s)           the step where the next group begins
// and load() takes the Group between Cursor and step. One that prepares what a tile needs has
//   void enter(int64_t first, int64_t last, int64_t k0, int64_t k1)
//                                          before cursor() of those columns and their inputs
// One that leaves inputs over after whole steps in an order of its own has
//   static int lane(int i)                where load() puts the i-th of sixteen
#if defined(SPINDRIFT_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_TILE_INL_H_
#undef SPINDRIFT_KERNELS_TILE_INL_H_
#else
#define SPINDRIFT_KERNELS_TILE_INL_H_
#endif

#include <hwy/cache_control.h>
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

// Tiles of as many sums as the registers leave room for. Few columns, because each is a stream of
// memory of its own.
#if HWY_CAP_GE512
inline constexpr int kMaxTileRows = 8;
struct WideTiles {
  static constexpr int kTileRows = 8;
  static constexpr int tile_columns(int rows) { return rows <= 6 ? 4 : 3; }
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

inline constexpr int kBlockColumns = 16;  // at most so many are accumulated and folded together

// The columns of a block: whole tiles.
constexpr int block_columns(int tile_columns) {
  return kBlockColumns / tile_columns * tile_columns;
}

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

HWY_INLINE void FetchLines(const void* from, int64_t bytes) {
  const auto* at = static_cast<const uint8_t*>(from);
  for (int64_t i = 0; i < bytes; i += 64) hwy::Prefetch(at + i);
}

// What is fetched while tiles are at work, as many cache lines as they read: for each line of a
// tile's columns, one line a column, `column` bytes apart, then `line` bytes further on. The first
// tile begins at `at`, the others `tile` bytes further on, the last one at `last`.
struct Ahead {
  const uint8_t* at = nullptr;
  const uint8_t* last = nullptr;
  int64_t line = 0;
  int64_t column = 0;
  int64_t tile = 0;

  HWY_INLINE const uint8_t* next(bool is_last) {
    const uint8_t* now = is_last ? last : at;
    at += tile;
    return now;
  }
};

// Partial sums in memory: those of row r, column c at at + r * row + c * 16, sixteen lanes each.
struct Sums {
  float* at = nullptr;
  int64_t row = 0;
};

// The inputs of a tile, where they are: `at` has a pointer for each row.
struct RowInputs {
  const float* const* at;

  template <int kRows>
  struct Tile {
    static constexpr bool kOrdered = false;
    HWY_INLINE explicit Tile(const RowInputs& x) {
      for (int r = 0; r < kRows; ++r) at[r] = x.at[r];
    }
    HWY_INLINE const float* row(int r, int64_t step) const { return at[r] + step * 16; }
    const float* at[kRows];
  };
};

// The same, brought together: sixteen of each row of the tile, then the next sixteen. One address
// reaches them all, and they collide in no cache. In the lane order of the source already.
struct PackedInputs {
  const float* at;

  template <int kRows>
  struct Tile {
    static constexpr bool kOrdered = true;
    HWY_INLINE explicit Tile(const PackedInputs& x) : at(x.at) {}
    HWY_INLINE const float* row(int r, int64_t step) const { return at + (step * kRows + r) * 16; }
    const float* at;
  };
};

// Adds the products of one step.
template <int kRows, int kColumns, class Source, class Groups, class Inputs>
HWY_INLINE void AddStep(const Source& source, const typename Source::Cursor (&cursors)[kColumns],
                        const Groups& groups, const Inputs& inputs, int64_t step,
                        Vec16 (&sums)[kRows][kColumns]) {
  Vec16 w[kColumns];
#pragma GCC unroll 16
  for (int c = 0; c < kColumns; ++c) w[c] = LoadWeights(source, cursors[c], groups[c], step);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    Vec16 in = Inputs::kOrdered ? Load16(inputs.row(r, step)) : source.load_x(inputs.row(r, step));
    KeepInRegisters(in);
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) sums[r][c] = Fma16(in, w[c], sums[r][c]);
  }
}

// Adds inputs [k0, k1) of kRows rows and kColumns columns to the sums, or starts them;
// (k1 - k0) % 16 == 0. Columns past last_column repeat it; nobody reads their sums.
template <class Source, int kRows, int kColumns, class Inputs, class Fetch>
HWY_INLINE void Tile(const Source& source, int64_t first_column, int64_t last_column,
                     const Inputs& x, int64_t k0, int64_t k1, bool start, Sums acc,
                     const uint8_t* next, const Fetch& fetch) {
  if constexpr (requires { source.enter(first_column, last_column, k0, k1); })
    source.enter(first_column, std::min(first_column + kColumns - 1, last_column), k0, k1);
  typename Source::Cursor cursors[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    cursors[c] = source.cursor(std::min(first_column + c, last_column));
  }
  const typename Inputs::template Tile<kRows> inputs(x);

  Vec16 sums[kRows][kColumns];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) {
      sums[r][c] = start ? Zero16() : Load16(acc.at + r * acc.row + c * 16);
    }
  }
  constexpr int kLine = Source::kFetchSteps;
  const int64_t steps = k1 / 16;
  int64_t step = k0 / 16;
  while (step < steps) {
    // Memory is not read in order here, so what comes after this tile is fetched by hand.
#pragma GCC unroll 16
    for (int c = 0; c < (Source::kFetchColumns ? kColumns : 1); ++c)
      hwy::Prefetch(next + c * fetch.column);
    next += fetch.line;
    const int64_t stop = std::min<int64_t>(step + kLine, steps);
    while (step < stop) {
      const int64_t end = GroupEnd(source, step, stop);
      decltype(GroupOf(source, cursors[0], step)) groups[kColumns];
#pragma GCC unroll 16
      for (int c = 0; c < kColumns; ++c) groups[c] = GroupOf(source, cursors[c], step);
      for (; step < end; ++step) {
        AddStep<kRows, kColumns>(source, cursors, groups, inputs, step, sums);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
    for (int c = 0; c < kColumns; ++c) Store16(sums[r][c], acc.at + r * acc.row + c * 16);
  }
}

// Columns [first, last) of kRows rows, tile by tile.
template <class Source, int kRows, class Inputs, class Fetch>
HWY_NOINLINE void TileRow(const Source& source, int64_t first, int64_t last, const Inputs& x,
                          int64_t k0, int64_t k1, bool start, Sums acc, Fetch& fetch) {
  constexpr int kColumns = Source::tile_columns(kRows);
  for (int64_t c = first; c < last; c += kColumns) {
    Tile<Source, kRows, kColumns>(source, c, last - 1, x, k0, k1, start,
                                  {acc.at + (c - first) * 16, acc.row},
                                  fetch.next(c + kColumns >= last), fetch);
  }
}

// Adds inputs [k0, k1) of `rows` rows (at most Source::kTileRows) and columns [first, last) (at
// most kBlockColumns) to the sums, whole steps of 16 only. `fetch` is an Ahead or the like.
template <class Source, class Inputs, class Fetch>
HWY_INLINE void AccumulateTile(const Source& source, int64_t first, int64_t last, int rows,
                               const Inputs& x, int64_t k0, int64_t k1, bool start, Sums acc,
                               Fetch& fetch) {
#define SPINDRIFT_TILE_ROWS(n)                                                      \
  case n:                                                                           \
    if constexpr (n <= Source::kTileRows) {                                         \
      return TileRow<Source, n>(source, first, last, x, k0, k1, start, acc, fetch); \
    }                                                                               \
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

// The last in % 16 inputs, which fill only the first lanes. The sums have the lane order of
// `Order`.
template <class Order = NaturalOrder, class Source>
void AccumulateTail(const Source& source, int64_t first, int64_t last, int rows,
                    const float* const* x, int64_t k0, int64_t k1, Sums acc) {
  for (int r = 0; r < rows; ++r) {
    for (int64_t c = first; c < last; ++c) {
      float* lanes = acc.at + r * acc.row + (c - first) * 16;
      for (int64_t k = k0; k < k1; ++k) {
        float& lane = lanes[LaneOf<Order>(static_cast<int>(k - k0))];
        lane = std::fma(x[r][k], source.scalar(c, k), lane);
      }
    }
  }
}

// out[i] = scale times the fold of the i-th sum, for `count` of them in a row and as many more as
// make that a multiple of kLanes.
template <class Source>
HWY_INLINE void FoldSums(const Source& source, const float* acc, int64_t count, float scale,
                         float* out) {
  const FloatTag df;
  for (int64_t at = 0; at < count; at += kLanes) {
    Floats s[kLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      s[i] = FoldRegisters(source.natural(Load16(acc + (at + i) * 16)));
    }
    hn::StoreU(hn::Mul(FoldTransposed(s), hn::Set(df, scale)), df, out + at);
  }
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
