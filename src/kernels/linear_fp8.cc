#include "kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/linear_fp8.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/contract.h"
#include "kernels/fp8_table.h"
#include "kernels/linear-inl.h"
#include "kernels/scales-inl.h"
#include "kernels/simd.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {
namespace {

// Sixteen codes times their scale, one by one.
HWY_INLINE Vec16 DecodeFromTable(const uint8_t* codes, Floats scale) {
  HWY_ALIGN float values[16];
  for (int i = 0; i < 16; ++i) values[i] = kFp8Values[codes[i]];
  return Mul16(Load16(values), scale);
}

// E4M3 becomes float16 by moving its exponent and mantissa up against the sign: the exponents'
// biases differ by 8, so the float16 is the value times 2^-8. Only NaN has to be told apart: its
// pattern is a number there.
#if HWY_TARGET == HWY_AVX3

HWY_INLINE Vec16 Decode(const uint8_t* codes, Floats scale) {
  const __m256i wide =
      _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes)));
  const __m256i half =
      _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(static_cast<short>(0xbf80)));
  const __m256i magnitude = _mm256_and_si256(half, _mm256_set1_epi16(0x3f80));
  const __mmask16 number = _mm256_cmpneq_epi16_mask(magnitude, _mm256_set1_epi16(0x3f80));
  const __m512 value = _mm512_mul_ps(_mm512_cvtph_ps(half), _mm512_set1_ps(256.0F));
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
  Vec16 r;
  r.v[0].raw = _mm512_mask_mul_ps(nan, number, value, scale.raw);
  return r;
}

constexpr int fp8_columns(int rows) { return WideTiles::tile_columns(rows); }
constexpr size_t kFp8DirectRows = 12;

#elif HWY_TARGET == HWY_AVX2

HWY_INLINE __m256 DecodeEight(__m128i half, Floats scale) {
  const __m256 value = _mm256_mul_ps(_mm256_cvtph_ps(half), _mm256_set1_ps(256.0F));
  return _mm256_mul_ps(value, scale.raw);
}

HWY_INLINE Vec16 Decode(const uint8_t* codes, Floats scale) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
  const __m128i magnitude = _mm_and_si128(bytes, _mm_set1_epi8(0x7f));
  if (_mm_movemask_epi8(_mm_cmpeq_epi8(magnitude, _mm_set1_epi8(0x7f))) != 0)
    return DecodeFromTable(codes, scale);
  const __m256i half = _mm256_and_si256(_mm256_slli_epi16(_mm256_cvtepi8_epi16(bytes), 7),
                                        _mm256_set1_epi16(static_cast<short>(0xbf80)));
  Vec16 r;
  r.v[0].raw = DecodeEight(_mm256_castsi256_si128(half), scale);
  r.v[1].raw = DecodeEight(_mm256_extracti128_si256(half, 1), scale);
  return r;
}

constexpr int fp8_columns(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }
constexpr size_t kFp8DirectRows = 3;

#else

HWY_INLINE Vec16 Decode(const uint8_t* codes, Floats scale) {
  return DecodeFromTable(codes, scale);
}

constexpr int fp8_columns(int rows) { return WideTiles::tile_columns(rows); }
constexpr size_t kFp8DirectRows = 1;

#endif

class Fp8Source {
 public:
  struct Cursor {
    const uint8_t* codes;
    int64_t scales;  // the first of its row of blocks
  };
  using Group = Floats;
  static constexpr int kTileRows = WideTiles::kTileRows;
  static constexpr bool kPacks = false;
  static constexpr int tile_rows(int) { return kTileRows; }
  static constexpr int tile_columns(int rows) { return fp8_columns(rows); }
  static constexpr int kFetchSteps = 4;  // a cache line
  static constexpr bool kFetchColumns = true;

  explicit Fp8Source(const Fp8Matrix& w)
      : w_(w),
        codes_(reinterpret_cast<const uint8_t*>(w.codes.data())),
        blocks_((w.in + w.block_columns - 1) / w.block_columns),
        block_steps_(static_cast<uint32_t>(w.block_columns / 16)) {}
  HWY_INLINE Cursor cursor(int64_t c) const {
    return {codes_ + c * w_.in, (w_.first_row + c) / w_.block_rows * blocks_};
  }
  HWY_INLINE const uint8_t* at(int64_t c, int64_t k) const { return codes_ + c * w_.in + k; }
  HWY_INLINE int64_t column_bytes() const { return w_.in; }
  HWY_INLINE void fetch_scales(int64_t, int64_t) const {}
  HWY_INLINE int64_t group_end(int64_t step) const { return (block(step) + 1) * block_steps_; }
  HWY_INLINE Group group(const Cursor& at, int64_t step) const {
    return BroadcastScale(w_.scale_dtype, w_.scales.data(), at.scales + block(step));
  }
  HWY_INLINE Vec16 load(const Cursor& at, const Group& scale, int64_t step) const {
    return Decode(at.codes + step * 16, scale);
  }
  HWY_INLINE Vec16 load_x(const float* x) const { return Load16(x); }
  HWY_INLINE Vec16 natural(Vec16 v) const { return v; }
  float scalar(int64_t c, int64_t k) const {
    return kFp8Values[codes_[c * w_.in + k]] *
           float_element(w_.scale_dtype, w_.scales.data(), cursor(c).scales + block(k / 16));
  }
  HWY_INLINE void expand(int64_t c, int64_t k, int64_t count, float* out) const {
    const Cursor from = cursor(c);
    for (int64_t step = k / 16, last = (k + count) / 16; step < last;) {
      const int64_t end = std::min(group_end(step), last);
      const Group scale = group(from, step);
      for (; step < end; ++step, out += 16) Store16(load(from, scale, step), out);
    }
  }
  HWY_INLINE void prefetch(int64_t c, int64_t k, int64_t count) const {
    FetchLines(at(c, k), count);
  }

 private:
  HWY_INLINE int64_t block(int64_t step) const {
    return static_cast<uint32_t>(step) / block_steps_;
  }

  Fp8Matrix w_;
  const uint8_t* codes_;
  int64_t blocks_;  // in a row of blocks
  uint32_t block_steps_;
};

void LinearFp8(const Fp8Matrix& w, InRows x, OutRows y, Columns columns, const Epilogue& epilogue) {
  if (x.empty()) return;
  const Fp8Source source(w);
  if (x.size() <= kFp8DirectRows) {
    LinearFew(source, w.in, x, y, columns, epilogue);
  } else {
    LinearPanel(source, w.in, x, y, columns, epilogue);
  }
}

}  // namespace

void FillLinearFp8(Table& table) { table.linear_fp8 = LinearFp8; }

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#if HWY_ONCE
#include "kernels/dispatch-inl.h"

namespace spindrift::kernels {

void simd::fill_linear_fp8(Isa isa, Table& table) { SPINDRIFT_FILL(FillLinearFp8, isa, table); }

}  // namespace spindrift::kernels
#endif
