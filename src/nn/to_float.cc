#include "nn/to_float.h"

#include <cstdint>
#include <cstring>

#include "core/bf16.h"
#include "core/check.h"
#include "core/f16.h"

namespace spindrift::nn {
void to_float(DType dtype, std::span<const std::byte> from, std::span<float> to) {
  if (dtype == DType::kF32) {
    std::memcpy(to.data(), from.data(), to.size_bytes());
    return;
  }
  SPINDRIFT_CHECK(dtype == DType::kBf16 || dtype == DType::kF16, "a float type of weights");
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, from.data() + 2 * i, 2);
    to[i] = dtype == DType::kF16 ? f16_to_float(bits) : bf16_to_float(bits);
  }
}

}  // namespace spindrift::nn
