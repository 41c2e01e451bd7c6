#include "kernels/linear_tiles.h"

#include "core/check.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#define SPINDRIFT_TILE_CODE __attribute__((target("avx512f,avx512bf16,amx-tile,amx-bf16")))

namespace spindrift::kernels::tiles {
namespace {

constexpr int64_t kRows = 16;                              // of x in one tile
constexpr int64_t kPackedPairs = kMostInputs / 2 * kRows;  // of rounded inputs, on the stack

// What LDTILECFG reads.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

bool processor_has_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kTileBf16 = 1U << 22U, kTile = 1U << 24U;
  if ((d & kTileBf16) == 0 || (d & kTile) == 0) return false;
  constexpr unsigned kVectorBf16 = 1U << 5U;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kVectorBf16) != 0;
}

bool system_grants_tiles() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// The intrinsics don't tell the compiler that they read and write memory.
inline void memory_is_used() { asm volatile("" : : : "memory"); }

// Lane i of v[j] becomes lane j of v[i]. Masks that let everything through, because the intrinsics
// without masks start from a value that g++ warns about.
SPINDRIFT_TILE_CODE inline void transpose(__m512i (&v)[16]) {
  __m512i pairs[16], quads[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_maskz_unpacklo_epi32(0xffff, v[i], v[i + 1]);
    pairs[i + 1] = _mm512_maskz_unpackhi_epi32(0xffff, v[i], v[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    quads[i] = _mm512_maskz_unpacklo_epi64(0xff, pairs[i], pairs[i + 2]);
    quads[i + 1] = _mm512_maskz_unpackhi_epi64(0xff, pairs[i], pairs[i + 2]);
    quads[i + 2] = _mm512_maskz_unpacklo_epi64(0xff, pairs[i + 1], pairs[i + 3]);
    quads[i + 3] = _mm512_maskz_unpackhi_epi64(0xff, pairs[i + 1], pairs[i + 3]);
  }
  constexpr int kEven = 0x88, kOdd = 0xdd;  // quarters 0 and 2, or 1 and 3, of both registers
  for (int i = 0; i < 4; ++i) {
    const __m512i even_low = _mm512_maskz_shuffle_i32x4(0xffff, quads[i], quads[i + 4], kEven);
    const __m512i even_high =
        _mm512_maskz_shuffle_i32x4(0xffff, quads[i + 8], quads[i + 12], kEven);
    const __m512i odd_low = _mm512_maskz_shuffle_i32x4(0xffff, quads[i], quads[i + 4], kOdd);
    const __m512i odd_high = _mm512_maskz_shuffle_i32x4(0xffff, quads[i + 8], quads[i + 12], kOdd);
    v[i] = _mm512_maskz_shuffle_i32x4(0xffff, even_low, even_high, kEven);
    v[i + 4] = _mm512_maskz_shuffle_i32x4(0xffff, odd_low, odd_high, kEven);
    v[i + 8] = _mm512_maskz_shuffle_i32x4(0xffff, even_low, even_high, kOdd);
    v[i + 12] = _mm512_maskz_shuffle_i32x4(0xffff, odd_low, odd_high, kOdd);
  }
}

// Rounds at most kRows rows to bfloat16 and brings them into the order of a tile: of each 32 inputs
// sixteen lines of two inputs of every row.
SPINDRIFT_TILE_CODE void pack(InRows x, int64_t in, uint32_t* to) {
  __m512i v[kRows];
  for (int64_t k = 0; k < in; k += kInputs, to += kRows * kRows) {
    for (size_t r = 0; r < kRows; ++r) v[r] = _mm512_setzero_si512();
    for (size_t r = 0; r < x.size(); ++r) {
      const __m512bh rounded =
          _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x[r] + k + 16), _mm512_loadu_ps(x[r] + k));
      std::memcpy(&v[r], &rounded, sizeof rounded);
    }
    transpose(v);
    for (int64_t i = 0; i < kRows; ++i) _mm512_storeu_si512(to + i * kRows, v[i]);
  }
}

// sums[c][r] of kColumns columns from `w` on and kRows packed rows.
SPINDRIFT_TILE_CODE void multiply(const std::byte* w, int64_t in, const uint32_t* packed,
                                  float (&sums)[kColumns][kRows]) {
  memory_is_used();
  _tile_zero(0);
  for (int64_t k = 0; k < in; k += kInputs) {
    _tile_loadd(1, w + k * 2, in * 2);
    _tile_loadd(2, packed + k / 2 * kRows, kRows * 4);
    _tile_dpbf16ps(0, 1, 2);
  }
  _tile_stored(0, sums, kRows * 4);
  memory_is_used();
}

// Columns [column, column + kColumns) of the rows `y`, from the sums of a tile.
SPINDRIFT_TILE_CODE void put(const float (&sums)[kColumns][kRows], int64_t column,
                             const Epilogue& epilogue, OutRows y) {
  __m512i v[kColumns];
  for (int64_t c = 0; c < kColumns; ++c) v[c] = _mm512_loadu_si512(sums[c]);
  transpose(v);
  for (size_t r = 0; r < y.size(); ++r) {
    __m512 row = _mm512_mul_ps(_mm512_castsi512_ps(v[r]), _mm512_set1_ps(epilogue.scale));
    if (!epilogue.bias.empty())
      row = _mm512_add_ps(row, _mm512_loadu_ps(epilogue.bias.data() + column));
    _mm512_storeu_ps(y[r] + column, row);
  }
}

SPINDRIFT_TILE_CODE void configure() {
  TileConfig config;
  for (int tile = 0; tile < 3; ++tile) {
    config.row_bytes[tile] = 64;
    config.rows[tile] = 16;
  }
  asm volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
}

SPINDRIFT_TILE_CODE void release() { _tile_release(); }

}  // namespace

bool usable() {
  static const bool usable = processor_has_tiles() && system_grants_tiles();
  return usable;
}

void linear_bf16(const DenseMatrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  SPINDRIFT_CHECK(
      w.in % kInputs == 0 && w.in <= kMostInputs && (columns.last - columns.first) % kColumns == 0,
      "whole tiles");
  alignas(64) uint32_t packed[kPackedPairs];
  alignas(64) float sums[kColumns][kRows];
  const int64_t tile_pairs = w.in / 2 * kRows;
  const auto block = static_cast<size_t>(kPackedPairs / tile_pairs * kRows);
  configure();
  for (size_t first = 0; first < x.size(); first += block) {
    const size_t rows = std::min(block, x.size() - first);
    for (size_t r = 0; r < rows; r += kRows) {
      pack(x.subspan(first + r, std::min<size_t>(kRows, rows - r)), w.in,
           packed + static_cast<int64_t>(r) / kRows * tile_pairs);
    }
    for (int64_t c = columns.first; c < columns.last; c += kColumns) {
      for (size_t r = 0; r < rows; r += kRows) {
        multiply(w.bytes.data() + c * w.in * 2, w.in,
                 packed + static_cast<int64_t>(r) / kRows * tile_pairs, sums);
        put(sums, c, epilogue, y.subspan(first + r, std::min<size_t>(kRows, rows - r)));
      }
    }
  }
  release();
}

}  // namespace spindrift::kernels::tiles

#else

namespace spindrift::kernels::tiles {

bool usable() { return false; }

void linear_bf16(const DenseMatrix&, InRows, OutRows, Columns, const Epilogue&) {
  SPINDRIFT_CHECK(false, "no matrix unit");
}

}  // namespace spindrift::kernels::tiles

#endif
