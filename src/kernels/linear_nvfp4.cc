#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_nvfp4.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "kernels/contract.h"
#include "kernels/linear-inl.h"
#include "kernels/nibbles-inl.h"
#include "kernels/nvfp4_table.h"
#include "kernels/simd.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

// A block is 16 codes in 8 bytes and one scale; the scale's row of kNvfp4Table holds the weight of
// each code.
#if HWY_TARGET == HWY_AVX3

HWY_INLINE Vec16 DecodeInterleaved(const uint8_t* codes, const uint8_t* scale) {
  Vec16 r;
  r.v[0].raw =
      _mm512_permutexvar_ps(InterleavedNibbles(codes), _mm512_load_ps(kNvfp4Table.weights[*scale]));
  return r;
}

HWY_INLINE Vec16 Decode(const uint8_t* codes, const uint8_t* scale) {
  return Deinterleave(DecodeInterleaved(codes, scale));
}

constexpr int nvfp4_columns(int rows) { return WideTiles::tile_columns(rows); }
constexpr size_t kNvfp4DirectRows = 16;

#elif HWY_TARGET == HWY_AVX2

// Eight codes from four bytes: the magnitude by the low three bits, the sign from bit 3, which the
// second shift has moved to the top.
HWY_INLINE __m256 DecodeEight(const uint8_t* codes, __m256 magnitudes) {
  const __m256i down = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  const __m256i up = _mm256_setr_epi32(28, 24, 20, 16, 12, 8, 4, 0);
  int32_t bits;
  std::memcpy(&bits, codes, sizeof(bits));
  const __m256i all = _mm256_set1_epi32(bits);
  const __m256 value = _mm256_permutevar8x32_ps(magnitudes, _mm256_srlv_epi32(all, down));
  const __m256i sign = _mm256_and_si256(_mm256_sllv_epi32(all, up), _mm256_set1_epi32(INT32_MIN));
  return _mm256_xor_ps(value, _mm256_castsi256_ps(sign));
}

HWY_INLINE Vec16 Decode(const uint8_t* codes, const uint8_t* scale) {
  const __m256 magnitudes = _mm256_load_ps(kNvfp4Table.weights[*scale]);
  Vec16 r;
  r.v[0].raw = DecodeEight(codes, magnitudes);
  r.v[1].raw = DecodeEight(codes + 4, magnitudes);
  return r;
}

constexpr int nvfp4_columns(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
constexpr size_t kNvfp4DirectRows = 6;

#else

HWY_INLINE Vec16 Decode(const uint8_t* codes, const uint8_t* scale) {
  const float* weights = kNvfp4Table.weights[*scale];
  HWY_ALIGN float values[16];
  for (int i = 0; i < 8; ++i) {
    values[2 * i] = weights[codes[i] & 0xfU];
    values[2 * i + 1] = weights[codes[i] >> 4];
  }
  return Load16(values);
}

constexpr int nvfp4_columns(int rows) { return WideTiles::tile_columns(rows); }
constexpr size_t kNvfp4DirectRows = 1;

#endif

class Nvfp4Source {
 public:
  struct Cursor {
    const uint8_t* codes;
    const uint8_t* scales;
  };
  static constexpr int kTileRows = WideTiles::kTileRows;
#if HWY_TARGET == HWY_AVX3
  static constexpr bool kPacks = true;
#else
  static constexpr bool kPacks = false;
#endif
  static constexpr int kFetchSteps = 8;  // a cache line of codes
  static constexpr bool kFetchColumns = true;
  static constexpr int tile_rows(int) { return kTileRows; }
  static constexpr int tile_columns(int rows) { return nvfp4_columns(rows); }

  explicit Nvfp4Source(const Nvfp4Matrix& w)
      : codes_(reinterpret_cast<const uint8_t*>(w.codes.data())),
        scales_(reinterpret_cast<const uint8_t*>(w.scales.data())),
        in_(w.in) {}
  HWY_INLINE Cursor cursor(int64_t c) const {
    return {codes_ + c * (in_ / 2), scales_ + c * (in_ / 16)};
  }
  HWY_INLINE const uint8_t* at(int64_t c, int64_t k) const {
    return codes_ + c * (in_ / 2) + k / 2;
  }
  HWY_INLINE int64_t column_bytes() const { return in_ / 2; }
  HWY_INLINE void fetch_scales(int64_t c, int64_t count) const {
    FetchLines(scales_ + c * (in_ / 16), count * (in_ / 16));
  }
#if HWY_TARGET == HWY_AVX3
  HWY_INLINE Vec16 load(const Cursor& at, int64_t step) const {
    return DecodeInterleaved(at.codes + step * 8, at.scales + step);
  }
  HWY_INLINE Vec16 load_x(const float* x) const { return Interleave(Load16(x)); }
  HWY_INLINE Vec16 natural(Vec16 v) const { return Deinterleave(v); }
#else
  HWY_INLINE Vec16 load(const Cursor& at, int64_t step) const {
    return Decode(at.codes + step * 8, at.scales + step);
  }
  HWY_INLINE Vec16 load_x(const float* x) const { return Load16(x); }
  HWY_INLINE Vec16 natural(Vec16 v) const { return v; }
#endif
  float scalar(int64_t c, int64_t k) const {
    const uint8_t code = codes_[c * (in_ / 2) + k / 2];
    return kNvfp4Table
        .weights[scales_[c * (in_ / 16) + k / 16]][(k % 2 == 0 ? code : code >> 4) & 0xf];
  }
  HWY_INLINE void expand(int64_t c, int64_t k, int64_t count, float* out) const {
    const Cursor from = cursor(c);
    for (int64_t i = 0; i < count; i += 16) {
      Store16(Decode(from.codes + (k + i) / 2, from.scales + (k + i) / 16), out + i);
    }
  }
  HWY_INLINE void prefetch(int64_t c, int64_t k, int64_t count) const {
    FetchLines(at(c, k), count / 2);
  }

 private:
  const uint8_t* codes_;
  const uint8_t* scales_;
  int64_t in_;
};

void LinearNvfp4(const Nvfp4Matrix& w, InRows x, OutRows y, Columns columns,
                 const Epilogue& epilogue) {
  if (x.empty()) return;
  const Nvfp4Source source(w);
  if (x.size() <= kNvfp4DirectRows) {
    LinearFew(source, w.in, x, y, columns, epilogue);
  } else {
    LinearPanel(source, w.in, x, y, columns, epilogue);
  }
}

}  // namespace

void FillLinearNvfp4(Table& table) { table.linear_nvfp4 = LinearNvfp4; }

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#if HWY_ONCE
#include "kernels/dispatch-inl.h"

namespace spindrift::kernels {

void simd::fill_linear_nvfp4(Isa isa, Table& table) { SPINDRIFT_FILL(FillLinearNvfp4, isa, table); }

}  // namespace spindrift::kernels
#endif
