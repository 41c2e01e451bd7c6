#pragma once

#include <bit>
#include <cstdint>

namespace spindrift {

// float8_e4m3fn -> float32, exact for every code: 1 sign, 4 exponent (bias 7), 3 mantissa bits, no
// infinity; 0x7f and 0xff are NaN.
constexpr float f8e4m3_to_float(uint8_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x80U) << 24;
  const uint32_t exponent = (bits >> 3) & 0xfU;
  const uint32_t mantissa = bits & 0x7U;
  if ((bits & 0x7fU) == 0x7fU) return std::bit_cast<float>(sign | 0x7fc00000U);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9F;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 120U) << 23) | (mantissa << 20));
}

}  // namespace spindrift
