// core/math.h with vectors: the same formulas, operation by operation, so that each lane has the
// scalar function's bits.
#if defined(SPINDRIFT_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_MATH_INL_H_
#undef SPINDRIFT_KERNELS_MATH_INL_H_
#else
#define SPINDRIFT_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "core/math.h"
#include "kernels/lane16-inl.h"
#include "kernels/targets.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

namespace mc = spindrift::math::constants;

using IntTag = hn::RebindToSigned<FloatTag>;
using Ints = hn::Vec<IntTag>;

HWY_INLINE Floats Splat(float x) { return hn::Set(FloatTag(), x); }

HWY_INLINE Floats Pow2(Ints k) {
  const IntTag di;
  return hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::Add(k, hn::Set(di, 127))));
}

// c[0] + c[1] x + ... + c[n - 1] x^(n - 1), by Horner's rule.
template <int n>
HWY_INLINE Floats Polynomial(const float (&c)[n], Floats x) {
  Floats p = Splat(c[n - 1]);
  for (int i = n - 2; i >= 0; --i) p = Fma(p, x, Splat(c[i]));
  return p;
}

HWY_INLINE Floats Exp(Floats x) {
  const IntTag di;
  const Floats high = Splat(mc::kExpHigh);
  const Floats low = Splat(mc::kExpLow);
  x = hn::IfThenElse(hn::Gt(x, high), high, x);
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  const Floats round = Splat(mc::kRoundShift);
  const Floats shifted = Fma(x, Splat(mc::kLog2E), round);
  const Floats n = hn::Sub(shifted, round);
  Floats r = Fma(n, Splat(-mc::kLn2High), x);
  r = Fma(n, Splat(-mc::kLn2Low), r);
  const Floats p = Polynomial(mc::kExp, r);
  const Floats e = hn::Add(Splat(1.0F), Fma(hn::Mul(r, r), p, r));
  const Ints k = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, round));
  const Ints half = hn::ShiftRight<1>(k);
  return hn::Mul(hn::Mul(e, Pow2(half)), Pow2(hn::Sub(k, half)));
}

HWY_INLINE Floats Log1pUnit(Floats t) {
  const Floats s = hn::Div(t, hn::Add(Splat(2.0F), t));
  const Floats z = hn::Mul(s, s);
  const Floats q = Polynomial(mc::kLog1p, z);
  return Fma(hn::Neg(s), Fma(hn::Neg(z), q, t), t);
}

HWY_INLINE Floats Softplus(Floats x) {
  const Floats positive = hn::IfThenElseZero(hn::Gt(x, Splat(0.0F)), x);
  return hn::Add(positive, Log1pUnit(Exp(hn::Neg(hn::Abs(x)))));
}

HWY_INLINE Floats SqrtSoftplus(Floats x) {
  const Floats tail = Exp(hn::Mul(Splat(0.5F), x));
  return hn::IfThenElse(hn::Lt(x, Splat(mc::kSqrtSoftplusLow)), tail, hn::Sqrt(Softplus(x)));
}

HWY_INLINE Floats Sigmoid(Floats x) {
  const Floats one = Splat(1.0F);
  const Floats e = Exp(hn::Neg(hn::Abs(x)));
  return hn::Div(hn::IfThenElse(hn::Lt(x, Splat(0.0F)), e, one), hn::Add(one, e));
}

HWY_INLINE Floats Silu(Floats x) { return hn::Mul(x, Sigmoid(x)); }

HWY_INLINE Floats Tanh(Floats x) {
  const Floats one = Splat(1.0F);
  const Floats two = Splat(2.0F);
  const Floats a = hn::Abs(x);
  const Floats z = hn::Mul(x, x);
  const Floats p = Polynomial(mc::kTanh, z);
  const Floats small = Fma(hn::Mul(x, z), p, x);
  const Floats large = hn::Sub(one, hn::Div(two, hn::Add(Exp(hn::Mul(two, a)), one)));
  return hn::IfThenElse(hn::Lt(a, Splat(mc::kTanhSmall)), small, hn::CopySign(large, x));
}

HWY_INLINE Floats Gelu(Floats x) {
  const Floats one = Splat(1.0F);
  const Floats t = hn::Div(one, Fma(hn::Abs(x), Splat(0.25F), one));
  const Floats p = Polynomial(mc::kPhi, t);
  const Floats tail = hn::Mul(Exp(hn::Mul(Splat(-0.5F), hn::Mul(x, x))), p);
  const Floats phi = hn::IfThenElse(hn::Lt(x, Splat(0.0F)), tail, hn::Sub(one, tail));
  return hn::Mul(x, phi);
}

HWY_INLINE Floats GeluTanh(Floats x) {
  const Floats cube = Fma(hn::Mul(hn::Mul(Splat(mc::kGeluTanhCube), x), x), x, x);
  return hn::Mul(x, Sigmoid(hn::Mul(Splat(mc::kGeluTanhSlope), cube)));
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
