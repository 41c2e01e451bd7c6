#include "core/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace spindrift {
namespace {

// Distance of `got` from the exact value, in units in the last place of the float32 nearest to it
// (the smallest normal's for subnormal results when `flush` is set).
double ulps(float got, long double exact, bool subnormal_matters = true) {
  const auto nearest = static_cast<float>(exact);
  if (std::isinf(nearest)) return got == nearest ? 0.0 : std::numeric_limits<double>::infinity();
  int exponent = std::ilogb(nearest == 0.0F ? std::numeric_limits<float>::denorm_min() : nearest);
  exponent = std::max(exponent, -126);
  if (!subnormal_matters && std::fabs(nearest) < std::numeric_limits<float>::min()) return 0.0;
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) /
                             std::ldexp(1.0L, exponent - 23));
}

// Largest error of `f` over float32 values spread over [low, high], both signs of zero included.
template <class F, class G>
double worst(float low, float high, F f, G exact, bool subnormal_matters = true) {
  double result = 0.0;
  const auto visit = [&](float x) {
    if (!(x >= low && x <= high)) return;
    result = std::max(result, ulps(f(x), exact(static_cast<long double>(x)), subnormal_matters));
  };
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 40009) {
    visit(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  const int steps = 50000;
  for (int i = 0; i <= steps; ++i) {
    visit(low + (high - low) * (static_cast<float>(i) / static_cast<float>(steps)));
  }
  return result;
}

long double exact_softplus(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::fabs(x)));
}
long double exact_sigmoid(long double x) { return 1.0L / (1.0L + std::exp(-x)); }

constexpr float kMax = std::numeric_limits<float>::max();

TEST(Math, ExpIsWithinOneUlpEverywhere) {
  EXPECT_LE(worst(-kMax, kMax, math::exp, [](long double x) { return std::exp(x); }), 1.0);
}

TEST(Math, ExpKeepsItsLimits) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(math::exp(-inf), 0.0F);
  EXPECT_EQ(math::exp(inf), inf);
  EXPECT_EQ(math::exp(0.0F), 1.0F);
  EXPECT_EQ(math::exp(-0.0F), 1.0F);
  EXPECT_TRUE(std::isnan(math::exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Math, Log1pIsWithinOneUlpOnTheUnitInterval) {
  EXPECT_LE(worst(0.0F, 1.0F, math::log1p_unit, [](long double t) { return std::log1p(t); }), 1.0);
}

TEST(Math, SoftplusIsWithinTwoUlps) {
  EXPECT_LE(worst(-kMax, kMax, math::softplus, exact_softplus), 2.0);
}

TEST(Math, SqrtSoftplusStaysAccurateFarBelowZero) {
  const auto exact = [](long double x) { return std::sqrt(exact_softplus(x)); };
  EXPECT_LE(worst(-174.0F, kMax, math::sqrt_softplus, exact), 2.0);
  EXPECT_GT(math::sqrt_softplus(-100.0F), 1.9e-22F);
}

TEST(Math, SigmoidIsWithinTwoUlps) {
  EXPECT_LE(worst(-kMax, kMax, math::sigmoid, exact_sigmoid), 2.0);
}

TEST(Math, SiluIsWithinThreeUlps) {
  const auto exact = [](long double x) { return x * exact_sigmoid(x); };
  EXPECT_LE(worst(-87.0F, kMax, math::silu, exact), 3.0);
}

TEST(Math, TanhIsWithinTwoUlps) {
  EXPECT_LE(worst(-kMax, kMax, math::tanh, [](long double x) { return std::tanh(x); }), 2.0);
}

TEST(Math, GeluFollowsTheErrorFunction) {
  const auto exact = [](long double x) { return x * 0.5L * std::erfc(-x / std::sqrt(2.0L)); };
  EXPECT_LE(worst(-1.0F, kMax, math::gelu, exact, false), 6.0);
  for (float x = -12.0F; x < -1.0F; x += 0.001F) {
    const long double want = exact(x);
    EXPECT_LE(std::fabs(math::gelu(x) - want), 4e-6L * std::fabs(want)) << x;
  }
}

TEST(Math, GeluTanhFollowsItsFormula) {
  const auto exact = [](long double x) {
    const long double u = std::sqrt(2.0L / std::acos(-1.0L)) * (x + 0.044715L * x * x * x);
    return 0.5L * x * (1.0L + std::tanh(u));
  };
  for (float x = -8.0F; x < 8.0F; x += 0.001F) {
    const long double want = exact(x);
    EXPECT_LE(std::fabs(math::gelu_tanh(x) - want), 4e-6L * std::fabs(want) + 1e-12L) << x;
  }
}

TEST(Math, AnglesUpToTwoToThe24AreCorrectlyRoundedAlmostAlways) {
  const float limit = 0x1p24F;
  EXPECT_LE(worst(
                -limit, limit, [](float x) { return math::sin_cos(x).sin; },
                [](long double x) { return std::sin(x); }),
            0.51);
  EXPECT_LE(worst(
                -limit, limit, [](float x) { return math::sin_cos(x).cos; },
                [](long double x) { return std::cos(x); }),
            0.51);
}

TEST(Math, TheAngleClosestToAMultipleOfHalfPiKeepsItsSine) {
  // Whole numbers are the large angles that positions make.
  double result = 0.0;
  for (int64_t n = 1; n <= 200000; ++n) {
    const auto x = static_cast<float>(n);
    result = std::max(result, ulps(math::sin_cos(x).sin, std::sin(static_cast<long double>(x))));
    result = std::max(result, ulps(math::sin_cos(x).cos, std::cos(static_cast<long double>(x))));
  }
  EXPECT_LE(result, 0.51);
}

}  // namespace
}  // namespace spindrift
