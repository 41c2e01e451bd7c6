#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

// The transcendental functions of the engine, one formula each. Kernels never call libm: its
// results differ between versions and machines. What is written here with scalars is written in
// kernels/math-inl.h with vectors, operation by operation, and tests hold the two to the same bits.
// std::fma and std::sqrt are the only calls; IEEE 754 fixes their results.
//
// Error bounds are in units in the last place of the result, against the exact value, over all
// float32 arguments unless said otherwise; tests/unit/core/math_test.cc measures them.
namespace spindrift::math {

namespace constants {

// Adding and subtracting 1.5 * 2^23 rounds a small float to an integer, held in the low bits.
inline constexpr float kRoundShift = 12582912.0F;
inline constexpr double kRoundShiftDouble = 6755399441055744.0;

inline constexpr float kExpHigh = 89.0F;   // e^89 overflows
inline constexpr float kExpLow = -104.0F;  // e^-104 rounds to zero
inline constexpr float kLog2E = 0x1.715476p+0F;
inline constexpr float kLn2High = 0x1.62e430p-1F;
inline constexpr float kLn2Low = -0x1.05c610p-29F;
// e^r = 1 + r + r^2 * (kExp[0] + kExp[1] r + ...) on |r| <= ln(2) / 2
inline constexpr float kExp[5] = {0x1.fffffcp-2F, 0x1.555492p-3F, 0x1.5558b6p-5F, 0x1.1239a2p-7F,
                                  0x1.6a4744p-10F};

// log(1 + t) = t - s * (t - z * (kLog1p[0] + kLog1p[1] z + ...)), s = t / (2 + t), z = s^2
inline constexpr float kLog1p[4] = {0x1.555502p-1F, 0x1.99d1cap-2F, 0x1.1ec070p-2F, 0x1.1ec906p-2F};

// tanh(x) = x + x * z * (kTanh[0] + kTanh[1] z + ...), z = x^2, on |x| < kTanhSmall
inline constexpr float kTanhSmall = 0.625F;
inline constexpr float kTanh[5] = {-0x1.555532p-2F, 0x1.1106fcp-3F, -0x1.b836f4p-5F, 0x1.5203f4p-6F,
                                   -0x1.7547e2p-8F};

// Below this, sqrt(softplus(x)) is e^(x/2) to within a quarter of an ulp, and e^x would lose bits.
inline constexpr float kSqrtSoftplusLow = -17.0F;

// Gaussian tail: Phi(-a) = e^(-a^2/2) * (kPhi[0] + kPhi[1] t + ...), t = 1 / (1 + a / 4)
inline constexpr float kPhi[10] = {
    -0x1.4d1bf2p-16F, 0x1.9a6672p-4F,  0x1.858658p-4F, 0x1.ec9d34p-4F,  -0x1.101316p-6F,
    0x1.308a3ap-2F,   -0x1.4cad1ep-2F, 0x1.8dd238p-2F, -0x1.8c0be4p-3F, 0x1.11d41ep-5F};

inline constexpr float kGeluTanhSlope = 0x1.988454p+0F;  // 2 * sqrt(2 / pi)
inline constexpr float kGeluTanhCube = 0x1.6e4e26p-5F;   // 0.044715

inline constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
inline constexpr double kHalfPiHigh = 0x1.921fb54442d18p+0;
inline constexpr double kHalfPiLow = 0x1.1a62633145c07p-54;
// sin(r) = r + r z (kSin[0] + ...), cos(r) = 1 - z/2 + z^2 (kCos[0] + ...), z = r^2, |r| <= pi/4
inline constexpr double kSin[5] = {-0x1.55555555523ebp-3, 0x1.1111110ca1d3dp-7,
                                   -0x1.a019f959a0d5dp-13, 0x1.71d77c787e722p-19,
                                   -0x1.a966b29ec9de6p-26};
inline constexpr double kCos[5] = {0x1.5555555552e14p-5, -0x1.6c16c16724596p-10,
                                   0x1.a019fa61ffd29p-16, -0x1.27e00c1801ba4p-22,
                                   0x1.1bbea8f0a1e6bp-29};

}  // namespace constants

// 2^k for k in [-126, 127].
inline float pow2(int32_t k) {
  return std::bit_cast<float>((static_cast<uint32_t>(k) + 127U) << 23);
}

// e^x, subnormal results included. Error: 1 ulp. exp(-inf) = 0, exp(inf) = inf, NaN stays NaN.
inline float exp(float x) {
  using namespace constants;
  x = x > kExpHigh ? kExpHigh : x;
  x = x < kExpLow ? kExpLow : x;
  const float shifted = std::fma(x, kLog2E, kRoundShift);
  const float n = shifted - kRoundShift;
  float r = std::fma(n, -kLn2High, x);
  r = std::fma(n, -kLn2Low, r);
  float p = kExp[4];
  p = std::fma(p, r, kExp[3]);
  p = std::fma(p, r, kExp[2]);
  p = std::fma(p, r, kExp[1]);
  p = std::fma(p, r, kExp[0]);
  const float e = 1.0F + std::fma(r * r, p, r);
  // Two factors, because 2^128 and 2^-150 are no floats. Only the last product can round.
  const auto k =
      static_cast<int32_t>(std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(kRoundShift));
  const int32_t half = k >> 1;
  return e * pow2(half) *
         pow2(static_cast<int32_t>(static_cast<uint32_t>(k) - static_cast<uint32_t>(half)));
}

// log(1 + t) for t in [0, 1]. Error: 1 ulp.
inline float log1p_unit(float t) {
  using namespace constants;
  const float s = t / (2.0F + t);
  const float z = s * s;
  float q = kLog1p[3];
  q = std::fma(q, z, kLog1p[2]);
  q = std::fma(q, z, kLog1p[1]);
  q = std::fma(q, z, kLog1p[0]);
  return std::fma(-s, std::fma(-z, q, t), t);
}

// log(1 + e^x). Error: 2 ulp.
inline float softplus(float x) {
  const float positive = x > 0.0F ? x : 0.0F;
  return positive + log1p_unit(exp(-std::fabs(x)));
}

// sqrt(log(1 + e^x)). Error: 2 ulp down to x = -174, where the result is still normal.
inline float sqrt_softplus(float x) {
  const float tail = exp(0.5F * x);
  return x < constants::kSqrtSoftplusLow ? tail : std::sqrt(softplus(x));
}

// 1 / (1 + e^-x). Error: 2 ulp.
inline float sigmoid(float x) {
  const float e = exp(-std::fabs(x));
  return (x < 0.0F ? e : 1.0F) / (1.0F + e);
}

// x * sigmoid(x). Error: 3 ulp where the result is normal.
inline float silu(float x) { return x * sigmoid(x); }

// tanh(x). Error: 2 ulp.
inline float tanh(float x) {
  using namespace constants;
  const float a = std::fabs(x);
  const float z = x * x;
  float p = kTanh[4];
  p = std::fma(p, z, kTanh[3]);
  p = std::fma(p, z, kTanh[2]);
  p = std::fma(p, z, kTanh[1]);
  p = std::fma(p, z, kTanh[0]);
  const float small = std::fma(x * z, p, x);
  const float large = 1.0F - 2.0F / (exp(2.0F * a) + 1.0F);
  return a < kTanhSmall ? small : std::copysign(large, x);
}

// GELU with the error function: x * Phi(x). Error: 6 ulp for x > -1; below, 4e-6 of the result.
inline float gelu(float x) {
  using namespace constants;
  const float a = std::fabs(x);
  const float t = 1.0F / std::fma(a, 0.25F, 1.0F);
  float p = kPhi[9];
  p = std::fma(p, t, kPhi[8]);
  p = std::fma(p, t, kPhi[7]);
  p = std::fma(p, t, kPhi[6]);
  p = std::fma(p, t, kPhi[5]);
  p = std::fma(p, t, kPhi[4]);
  p = std::fma(p, t, kPhi[3]);
  p = std::fma(p, t, kPhi[2]);
  p = std::fma(p, t, kPhi[1]);
  p = std::fma(p, t, kPhi[0]);
  const float tail = exp(-0.5F * (x * x)) * p;
  return x * (x < 0.0F ? tail : 1.0F - tail);
}

// GELU with the hyperbolic tangent: x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)). Error: as silu,
// on top of the rounding of its argument.
inline float gelu_tanh(float x) {
  using namespace constants;
  const float cube = std::fma(kGeluTanhCube * x * x, x, x);
  return x * sigmoid(kGeluTanhSlope * cube);
}

struct SinCos {
  float sin = 0.0F;
  float cos = 1.0F;
};

// Sine and cosine of an angle in radians, computed in double. Error: 0.51 ulp for |angle| <= 2^24.
// Beyond, finite angles give finite results of falling accuracy; inf and NaN give NaN.
inline SinCos sin_cos(float angle) {
  using namespace constants;
  const double x = static_cast<double>(angle);
  const double shifted = std::fma(x, kTwoOverPi, kRoundShiftDouble);
  const double n = shifted - kRoundShiftDouble;
  double r = std::fma(n, -kHalfPiHigh, x);
  r = std::fma(n, -kHalfPiLow, r);
  const double z = r * r;
  double s = kSin[4];
  double c = kCos[4];
  for (int i = 3; i >= 0; --i) {
    s = std::fma(s, z, kSin[i]);
    c = std::fma(c, z, kCos[i]);
  }
  const double sine = std::fma(r * z, s, r);
  const double cosine = std::fma(z * z, c, std::fma(z, -0.5, 1.0));
  const uint64_t quadrant = std::bit_cast<uint64_t>(shifted) & 3U;
  const double first = (quadrant & 1U) != 0 ? cosine : sine;
  const double second = (quadrant & 1U) != 0 ? sine : cosine;
  return {static_cast<float>((quadrant & 2U) != 0 ? -first : first),
          static_cast<float>(((quadrant + 1U) & 2U) != 0 ? -second : second)};
}

}  // namespace spindrift::math
