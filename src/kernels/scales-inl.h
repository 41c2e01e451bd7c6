// Stored scales in registers.
#if defined(SPINDRIFT_KERNELS_SCALES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_SCALES_INL_H_
#undef SPINDRIFT_KERNELS_SCALES_INL_H_
#else
#define SPINDRIFT_KERNELS_SCALES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "core/dtype.h"
#include "kernels/elements.h"
#include "kernels/lane16-inl.h"
#include "kernels/targets.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

// Element `index` of BF16, F16 or F32 values in every lane.
HWY_INLINE Floats BroadcastScale(DType dtype, const std::byte* values, int64_t index) {
  return hn::Set(FloatTag(), float_element(dtype, values, index));
}

HWY_INLINE Vec16 Mul16(Vec16 a, Floats scale) {
  for (int i = 0; i < kRegs; ++i) a.v[i] = hn::Mul(a.v[i], scale);
  return a;
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
