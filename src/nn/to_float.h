#pragma once

#include <cstddef>
#include <span>

#include "core/dtype.h"

namespace spindrift::nn {

// The stored elements as float32, exactly. f32, bf16 and f16 only; from.size() ==
// to.size() * dtype_bytes(dtype).
void to_float(DType dtype, std::span<const std::byte> from, std::span<float> to);

}  // namespace spindrift::nn
