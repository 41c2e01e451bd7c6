#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/f8e4m3.h"

namespace spindrift::kernels {

constexpr std::array<float, 256> make_fp8_values() {
  std::array<float, 256> values{};
  for (size_t code = 0; code < 256; ++code)
    values[code] = f8e4m3_to_float(static_cast<uint8_t>(code));
  return values;
}

// The value of every E4M3 code.
inline constexpr std::array<float, 256> kFp8Values = make_fp8_values();

}  // namespace spindrift::kernels
