#pragma once

#include <array>
#include <cstdint>

namespace spindrift {

// The values of the sixteen E2M1 (4-bit float) codes: bit 3 is the sign.
inline constexpr std::array<float, 16> kE2m1Values = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,
                                                      4.0F,  6.0F,  -0.0F, -0.5F, -1.0F, -1.5F,
                                                      -2.0F, -3.0F, -4.0F, -6.0F};

// Two codes share a byte: the low nibble is the even column.
inline float e2m1_low(uint8_t byte) { return kE2m1Values[byte & 0xfU]; }
inline float e2m1_high(uint8_t byte) { return kE2m1Values[byte >> 4]; }

}  // namespace spindrift
