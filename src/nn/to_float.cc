#include "nn/to_float.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/check.h"

namespace spindrift::nn {
namespace {

float from_f16(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t exponent = (half >> 10) & 0x1FU;
  const uint32_t mantissa = half & 0x3FFU;
  if (exponent == 0x1FU) return std::bit_cast<float>(sign | 0x7F800000U | (mantissa << 13));
  if (exponent != 0)
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;  // subnormal
  return sign != 0 ? -magnitude : magnitude;
}

}  // namespace

void to_float(DType dtype, std::span<const std::byte> from, std::span<float> to) {
  if (dtype == DType::kF32) {
    std::memcpy(to.data(), from.data(), to.size_bytes());
    return;
  }
  SPINDRIFT_CHECK(dtype == DType::kBf16 || dtype == DType::kF16, "a float type of weights");
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, from.data() + 2 * i, 2);
    to[i] = dtype == DType::kF16 ? from_f16(bits)
                                 : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
}

}  // namespace spindrift::nn
