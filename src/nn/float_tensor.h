#pragma once

#include <span>
#include <string_view>

#include "core/dtype.h"
#include "core/result.h"
#include "io/weight_store.h"

namespace spindrift::nn {

inline bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBf16 || dtype == DType::kF16;
}

// A tensor of this shape in whatever float type (bf16, f16, f32) it is stored. One that is absent
// or of another type is reported as if bf16 was expected.
Result<TensorView> get_float(const WeightScope& scope, std::string_view leaf,
                             std::span<const int64_t> shape);

}  // namespace spindrift::nn
