#include "nn/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernels/registry.h"

namespace spindrift::nn {
namespace {

// XS 2.1's full layers.
const YarnRamp kXs21{.factor = 32.0, .original_context = 8192.0, .beta_fast = 64.0};

TEST(Rope, PlainFrequenciesArePowersOfTheta) {
  const Rope rope = Rope::plain(10000.0, 128);
  ASSERT_EQ(rope.inv_freq.size(), 64U);
  for (size_t i = 0; i < 64; ++i) {
    const double exact = std::pow(10000.0, -static_cast<double>(2 * i) / 128.0);
    EXPECT_NEAR(rope.inv_freq[i] / exact, 1.0, 2e-7);
  }
  EXPECT_EQ(rope.multiplier, 1.0F);
}

TEST(Rope, YarnKeepsFastPairsAndStretchesSlowOnes) {
  const Rope rope = Rope::yarn(500000.0, 64, kXs21, 1.3465735902799727);
  const Rope plain = Rope::plain(500000.0, 64);
  ASSERT_EQ(rope.inv_freq.size(), 32U);
  for (size_t i = 0; i < 32; ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - 7.0) / (18.0 - 7.0), 0.0, 1.0);
    const double exact =
        std::pow(500000.0, -static_cast<double>(2 * i) / 64.0) * ((1.0 - ramp) + ramp / 32.0);
    EXPECT_NEAR(rope.inv_freq[i] / exact, 1.0, 1e-6) << i;
  }
  EXPECT_EQ(rope.inv_freq[7], plain.inv_freq[7]);
  EXPECT_NE(rope.inv_freq[8], plain.inv_freq[8]);
  EXPECT_EQ(rope.multiplier, 1.3465735902799727F);
}

TEST(Rope, TheDerivedMultiplierIsATenthOfTheLogarithmPlusOne) {
  EXPECT_NEAR(yarn_derived_multiplier(32.0), 1.3465735902799727, 1e-15);
  EXPECT_NEAR(yarn_derived_multiplier(128.0), 1.4852030263919618, 1e-15);
  EXPECT_EQ(yarn_derived_multiplier(1.0), 1.0);
}

TEST(Rope, AnglesAgreeWithLibmUpToAMillionPositions) {
  const Rope rope = Rope::plain(10000.0, 8);
  for (const Position p : {0, 1, 2, 3, 100, 511, 4095, 99999, 1048575}) {
    float cos[4], sin[4];
    rope_angles(rope, std::span(&p, 1), Rows(cos, 1, 4), Rows(sin, 1, 4));
    for (size_t i = 0; i < 4; ++i) {
      const double angle = static_cast<double>(static_cast<float>(p) * rope.inv_freq[i]);
      EXPECT_NEAR(cos[i], std::cos(angle), 1e-7);
      EXPECT_NEAR(sin[i], std::sin(angle), 1e-7);
    }
  }
}

TEST(Rope, TheMultiplierScalesCosineAndSineOnce) {
  Rope rope = Rope::plain(10000.0, 2);
  rope.multiplier = 1.5F;
  const Position p = 1;
  float cos = 0, sin = 0;
  rope_angles(rope, std::span(&p, 1), Rows(&cos, 1, 1), Rows(&sin, 1, 1));
  EXPECT_NEAR(cos, 1.5 * std::cos(1.0), 1e-6);
  EXPECT_NEAR(sin, 1.5 * std::sin(1.0), 1e-6);
}

TEST(Rope, RotatesHalvesOfTheRotatedPartAndLeavesTheRest) {
  const Exec ex{.kernels = &kernels::table(kernels::Isa::kScalar)};
  std::vector<float> x(2 * 128);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.01F + 1.0F;
  const std::vector<float> before = x;
  const Rope rope = Rope::yarn(500000.0, 64, kXs21, 1.3465735902799727);
  const Position p = 3;
  std::vector<float> cos(32), sin(32);
  const Rows c(cos.data(), 1, 32), s(sin.data(), 1, 32);
  rope_angles(rope, std::span(&p, 1), c, s);
  apply_rope(Rows(x.data(), 1, 256), 128, c, s, ex);
  for (size_t head = 0; head < 2; ++head) {
    const float* in = before.data() + 128 * head;
    const float* out = x.data() + 128 * head;
    for (size_t i = 0; i < 32; ++i) {
      EXPECT_NEAR(out[i], in[i] * cos[i] - in[i + 32] * sin[i], 1e-5);
      EXPECT_NEAR(out[i + 32], in[i + 32] * cos[i] + in[i] * sin[i], 1e-5);
    }
    for (size_t i = 64; i < 128; ++i) EXPECT_EQ(out[i], in[i]);
  }
}

}  // namespace
}  // namespace spindrift::nn
