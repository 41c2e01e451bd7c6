#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/e2m1.h"
#include "core/f8e4m3.h"

namespace spindrift::kernels {

// The sixteen weights that a block scale makes, for every scale code: row s, entry c is the float32
// product (exact) of E2M1 code c and E4M3 code s. One lookup replaces decoding and multiplying.
struct alignas(64) Nvfp4Table {
  float weights[256][16];
};

constexpr Nvfp4Table make_nvfp4_table() {
  Nvfp4Table table{};
  for (size_t s = 0; s < 256; ++s) {
    const float scale = f8e4m3_to_float(static_cast<uint8_t>(s));
    const bool nan = (s & 0x7fU) == 0x7fU;
    for (size_t c = 0; c < 16; ++c) table.weights[s][c] = nan ? scale : kE2m1Values[c] * scale;
  }
  return table;
}

inline constexpr Nvfp4Table kNvfp4Table = make_nvfp4_table();

}  // namespace spindrift::kernels
