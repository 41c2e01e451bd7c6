// Sixteen 4-bit codes of eight bytes (the even column in the low bits) as the indices of a register
// permutation.
#if defined(SPINDRIFT_KERNELS_NIBBLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_NIBBLES_INL_H_
#undef SPINDRIFT_KERNELS_NIBBLES_INL_H_
#else
#define SPINDRIFT_KERNELS_NIBBLES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <cstring>

#include "kernels/lane16-inl.h"
#include "kernels/targets.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

// Broadcasting the 8 bytes puts codes 0..7 in even and 8..15 in odd dword lanes, each shifted to
// the low four bits, all that the permutation looks at. So lane 2i is column i and lane 2i + 1 is
// column 8 + i; inputs are brought into the same order once for all columns.
HWY_INLINE __m512i InterleavedNibbles(const uint8_t* codes) {
  const __m512i shifts =
      _mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28);
  const __m512i all =
      _mm512_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
  return _mm512_srlv_epi32(all, shifts);
}

HWY_INLINE Vec16 Interleave(Vec16 x) {
  const __m512i order = _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  x.v[0].raw = _mm512_permutexvar_ps(order, x.v[0].raw);
  return x;
}

HWY_INLINE Vec16 Deinterleave(Vec16 x) {
  const __m512i order = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
  x.v[0].raw = _mm512_permutexvar_ps(order, x.v[0].raw);
  return x;
}

#elif HWY_TARGET == HWY_AVX2

// The codes of eight columns, from four bytes.
HWY_INLINE __m256i EightNibbles(const uint8_t* codes) {
  const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  int32_t bits;
  std::memcpy(&bits, codes, sizeof(bits));
  return _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(bits), shifts),
                          _mm256_set1_epi32(0xf));
}

#endif

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
