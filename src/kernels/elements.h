#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/bf16.h"
#include "core/dtype.h"
#include "core/f16.h"
#include "kernels/contract.h"

// Single elements of stored matrices, at any address.
namespace spindrift::kernels {

// Element `index` of BF16, F16 or F32 values, exactly.
inline float float_element(DType dtype, const std::byte* values, int64_t index) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, values + index * 4, sizeof(value));
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, values + index * 2, sizeof(bits));
  return dtype == DType::kF16 ? f16_to_float(bits) : bf16_to_float(bits);
}

// The code of weight [o, k].
inline int packed_code(const PackedMatrix& w, int64_t o, int64_t k) {
  const std::byte* row = w.codes.data() + o * w.row_bytes();
  if (w.bits == 8) return std::to_integer<int>(row[k]);
  const int pair = std::to_integer<int>(row[k / 2]);
  return k % 2 == 0 ? pair & 0xf : pair >> 4;
}

}  // namespace spindrift::kernels
