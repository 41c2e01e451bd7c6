// Sixteen float lanes in as many registers as the target needs, their fused multiply-add and the
// fold that turns the partial sums of several dot products into their values.
#if defined(SPINDRIFT_KERNELS_LANE16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SPINDRIFT_KERNELS_LANE16_INL_H_
#undef SPINDRIFT_KERNELS_LANE16_INL_H_
#else
#define SPINDRIFT_KERNELS_LANE16_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/targets.h"

#if SPINDRIFT_VECTOR_TARGET

HWY_BEFORE_NAMESPACE();
namespace spindrift::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::CappedTag<float, 16>;
using Floats = hn::Vec<FloatTag>;  // one register of floats

inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(FloatTag()));
inline constexpr int kRegs = 16 / kLanes;  // registers that hold sixteen floats

#if HWY_NATIVE_FMA

HWY_INLINE Floats Fma(Floats a, Floats b, Floats c) { return hn::MulAdd(a, b, c); }

#else

// a * b + c with one rounding, two lanes in double. The product of two floats is exact in double;
// the sum is rounded to odd (kept inexact in its last bit), so that narrowing it to float rounds
// the exact value once.
template <class D, class V = hn::Vec<D>, class Narrow = hn::Rebind<float, D>>
HWY_INLINE hn::Vec<Narrow> FmaWide(D d, V a, V b, V c) {
  const hn::RebindToSigned<D> di;
  const V product = hn::Mul(a, b);
  const V sum = hn::Add(product, c);
  const V back = hn::Sub(sum, product);
  const V error = hn::Add(hn::Sub(product, hn::Sub(sum, back)), hn::Sub(c, back));
  const auto bits = hn::BitCast(di, sum);
  const auto zero = hn::Zero(d);
  const auto inexact =
      hn::Or(hn::VecFromMask(d, hn::Lt(error, zero)), hn::VecFromMask(d, hn::Gt(error, zero)));
  const auto one = hn::Set(di, int64_t{1});
  const auto even = hn::VecFromMask(di, hn::Eq(hn::And(bits, one), hn::Zero(di)));
  // One step away from zero when the error has the sum's sign, one towards it otherwise.
  const auto step = hn::Or(hn::BroadcastSignBit(hn::Xor(hn::BitCast(di, error), bits)), one);
  const auto adjust = hn::And(hn::And(hn::BitCast(di, inexact), even), step);
  return hn::DemoteTo(Narrow(), hn::BitCast(d, hn::Add(bits, adjust)));
}

HWY_INLINE Floats Fma(Floats a, Floats b, Floats c) {
  const FloatTag df;
  const hn::Repartition<double, FloatTag> dd;
  const hn::Half<FloatTag> dh;
  const auto low =
      FmaWide(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, a)), hn::PromoteTo(dd, hn::LowerHalf(dh, b)),
              hn::PromoteTo(dd, hn::LowerHalf(dh, c)));
  const auto high =
      FmaWide(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, a)), hn::PromoteTo(dd, hn::UpperHalf(dh, b)),
              hn::PromoteTo(dd, hn::UpperHalf(dh, c)));
  return hn::Combine(df, high, low);
}

#endif

struct Vec16 {
  Floats v[kRegs];
};

HWY_INLINE Vec16 Zero16() {
  Vec16 r;
  for (int i = 0; i < kRegs; ++i) r.v[i] = hn::Zero(FloatTag());
  return r;
}

HWY_INLINE Vec16 Load16(const float* p) {
  Vec16 r;
  for (int i = 0; i < kRegs; ++i) r.v[i] = hn::LoadU(FloatTag(), p + i * kLanes);
  return r;
}

// Sixteen float32 values from any address.
HWY_INLINE Vec16 Load16(const uint8_t* p) {
  const FloatTag df;
  const hn::Repartition<uint8_t, FloatTag> d8;
  Vec16 r;
  for (int i = 0; i < kRegs; ++i) r.v[i] = hn::BitCast(df, hn::LoadU(d8, p + i * kLanes * 4));
  return r;
}

// Sixteen bfloat16 values from any address, widened.
HWY_INLINE Vec16 LoadBf16x16(const uint8_t* p) {
  const FloatTag df;
  const hn::RebindToUnsigned<FloatTag> d32;
  const hn::Rebind<uint16_t, FloatTag> d16;
  const hn::Repartition<uint8_t, decltype(d16)> d8;
  Vec16 r;
  for (int i = 0; i < kRegs; ++i) {
    const auto half = hn::BitCast(d16, hn::LoadU(d8, p + i * kLanes * 2));
    r.v[i] = hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(d32, half)));
  }
  return r;
}

HWY_INLINE void Store16(Vec16 a, float* p) {
  for (int i = 0; i < kRegs; ++i) hn::StoreU(a.v[i], FloatTag(), p + i * kLanes);
}

HWY_INLINE Vec16 Add16(Vec16 a, Vec16 b) {
  for (int i = 0; i < kRegs; ++i) a.v[i] = hn::Add(a.v[i], b.v[i]);
  return a;
}

HWY_INLINE Vec16 Fma16(Vec16 a, Vec16 b, Vec16 c) {
  for (int i = 0; i < kRegs; ++i) c.v[i] = Fma(a.v[i], b.v[i], c.v[i]);
  return c;
}

// Stops the compiler from loading the same memory again for each use of a value.
HWY_INLINE void KeepInRegisters(Vec16& a) {
#if HWY_ARCH_X86 && HWY_CAP_GE256
  for (int i = 0; i < kRegs; ++i) asm("" : "+v"(a.v[i].raw));
#else
  static_cast<void>(a);
#endif
}

// Folds sixteen lanes to one register: 16 -> kLanes, by halves.
HWY_INLINE Floats FoldRegisters(Vec16 a) {
  for (int half = kRegs / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) a.v[i] = hn::Add(a.v[i], a.v[i + half]);
  }
  return a.v[0];
}

// One step of the transposed fold: of both inputs, adds the lanes that are `distance` apart, and
// keeps a's sums where bit `distance` of the lane index is clear, b's where it is set. Addition
// commutes bit for bit, so each sum is the one that the scalar fold makes.
HWY_INLINE Floats FoldHalves(Floats a, Floats b) {  // distance 8
#if HWY_CAP_GE512
  const FloatTag d;
  return hn::Add(hn::ConcatUpperLower(d, b, a), hn::ConcatLowerUpper(d, b, a));
#else
  return hn::Add(a, b);
#endif
}
HWY_INLINE Floats FoldBlocks(Floats a, Floats b) {  // distance 4
#if HWY_CAP_GE256
  return hn::Add(hn::OddEvenBlocks(b, a), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(a, b)));
#else
  return hn::Add(a, b);
#endif
}
HWY_INLINE Floats FoldPairs(Floats a, Floats b) {  // distance 2
  const FloatTag df;
  const hn::RepartitionToWide<hn::RebindToUnsigned<FloatTag>> dw;
  const auto keep = hn::OddEven(hn::BitCast(dw, b), hn::BitCast(dw, a));
  const auto swap = hn::OddEven(hn::BitCast(dw, a), hn::BitCast(dw, b));
  return hn::Add(hn::BitCast(df, keep), hn::Shuffle1032(hn::BitCast(df, swap)));
}
HWY_INLINE Floats FoldSingles(Floats a, Floats b) {  // distance 1
  return hn::Add(hn::OddEven(b, a), hn::Shuffle2301(hn::OddEven(a, b)));
}

// Lane i of the result is the fold of s[i], for kLanes registers of partial sums.
HWY_INLINE Floats FoldTransposed(Floats s[kLanes]) {
  if constexpr (kLanes >= 16) {
    for (int i = 0; i < 8; ++i) s[i] = FoldHalves(s[i], s[i + 8]);
  }
  if constexpr (kLanes >= 8) {
    for (int i = 0; i < 4; ++i) s[i] = FoldBlocks(s[i], s[i + 4]);
  }
  for (int i = 0; i < 2; ++i) s[i] = FoldPairs(s[i], s[i + 2]);
  return FoldSingles(s[0], s[1]);
}

// The fold of one accumulator.
HWY_INLINE float Fold16(Vec16 a) {
  HWY_ALIGN float lanes[kLanes];
  hn::StoreU(FoldRegisters(a), FloatTag(), lanes);
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

}  // namespace spindrift::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SPINDRIFT_VECTOR_TARGET

#endif
