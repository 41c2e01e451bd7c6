#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/bf16.h"
#include "core/e2m1.h"
#include "core/f16.h"
#include "core/f8e4m3.h"

namespace spindrift {
namespace {

// The value that the fields of a small binary float spell, straight from the definition.
double from_fields(uint32_t bits, int exponent_bits, int mantissa_bits, int bias) {
  const uint32_t mantissa = bits & ((1U << mantissa_bits) - 1U);
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1U << exponent_bits) - 1U));
  const bool negative = ((bits >> (mantissa_bits + exponent_bits)) & 1U) != 0;
  const double magnitude =
      exponent == 0 ? std::ldexp(static_cast<double>(mantissa), 1 - bias - mantissa_bits)
                    : std::ldexp(1.0 + std::ldexp(static_cast<double>(mantissa), -mantissa_bits),
                                 exponent - bias);
  return negative ? -magnitude : magnitude;
}

bool same_value(float got, double want) {
  return static_cast<double>(got) == want && std::signbit(got) == std::signbit(want);
}

TEST(NumberFormats, EveryBf16CodeWidensExactlyAndNarrowsBack) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = bf16_to_float(static_cast<uint16_t>(code));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_to_float(bf16_from_float(value))));
      continue;
    }
    if (!std::isinf(value)) {
      EXPECT_TRUE(same_value(value, from_fields(code, 8, 7, 127))) << code;
    }
    EXPECT_EQ(bf16_from_float(value), code);
  }
}

TEST(NumberFormats, EveryF16CodeWidensExactlyAndNarrowsBack) {
  for (uint32_t code = 0; code < 65536; ++code) {
    const float value = f16_to_float(static_cast<uint16_t>(code));
    if (((code >> 10) & 0x1fU) == 0x1fU) {
      EXPECT_EQ(std::isnan(value), (code & 0x3ffU) != 0);
      EXPECT_EQ(std::isinf(value), (code & 0x3ffU) == 0);
    } else {
      EXPECT_TRUE(same_value(value, from_fields(code, 5, 10, 15))) << code;
    }
    if (!std::isnan(value)) {
      EXPECT_EQ(f16_from_float(value), code);
    } else {
      EXPECT_TRUE(std::isnan(f16_to_float(f16_from_float(value))));
    }
  }
}

TEST(NumberFormats, EveryE4M3CodeWidensExactly) {
  for (uint32_t code = 0; code < 256; ++code) {
    const float value = f8e4m3_to_float(static_cast<uint8_t>(code));
    if ((code & 0x7fU) == 0x7fU) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_TRUE(same_value(value, from_fields(code, 4, 3, 7))) << code;
    }
  }
}

TEST(NumberFormats, EveryE2M1CodeHasItsValueInBothNibbles) {
  for (uint32_t code = 0; code < 16; ++code) {
    EXPECT_TRUE(same_value(e2m1_low(static_cast<uint8_t>(code)), from_fields(code, 2, 1, 1)));
    EXPECT_TRUE(same_value(e2m1_high(static_cast<uint8_t>(code << 4)), from_fields(code, 2, 1, 1)));
  }
}

// Rounding of `narrow` against the neighbours that `widen` spells.
template <class Narrow, class Widen>
void expect_nearest_even(Narrow narrow, Widen widen, float value, float largest) {
  const uint16_t code = narrow(value);
  const double got = static_cast<double>(widen(code));
  if (std::isinf(got)) {
    EXPECT_GT(std::fabs(value), largest);
    return;
  }
  for (const int step : {-1, 1}) {
    const auto neighbour = static_cast<uint16_t>(code + step);
    const double other = static_cast<double>(widen(neighbour));
    if (std::isnan(other) || std::isinf(other)) continue;
    const double here = std::fabs(static_cast<double>(value) - got);
    const double there = std::fabs(static_cast<double>(value) - other);
    EXPECT_LE(here, there) << value;
    if (here == there && here != 0.0) {
      EXPECT_EQ(code & 1U, 0U) << value;
    }
  }
}

TEST(NumberFormats, NarrowingRoundsToNearestTiesToEven) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value) || std::isinf(value)) continue;
    expect_nearest_even(bf16_from_float, bf16_to_float, value, 0x1.fep127F);
    expect_nearest_even(f16_from_float, f16_to_float, value, 65504.0F);
  }
  for (uint32_t code = 0; code < 0x7bff; ++code) {  // ties between neighbours
    const float low = f16_to_float(static_cast<uint16_t>(code));
    const float high = f16_to_float(static_cast<uint16_t>(code + 1));
    expect_nearest_even(f16_from_float, f16_to_float, 0.5F * (low + high), 65504.0F);
  }
  EXPECT_TRUE(std::isinf(f16_to_float(f16_from_float(65520.0F))));
  EXPECT_EQ(f16_to_float(f16_from_float(65519.99F)), 65504.0F);
  EXPECT_TRUE(std::isinf(bf16_to_float(bf16_from_float(std::numeric_limits<float>::max()))));
}

}  // namespace
}  // namespace spindrift
