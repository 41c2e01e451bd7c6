#include "nn/float_tensor.h"

namespace spindrift::nn {

Result<TensorView> get_float(const WeightScope& scope, std::string_view leaf,
                             std::span<const int64_t> shape) {
  const TensorInfo* info = scope.find(leaf);
  const bool stored = info != nullptr && is_float(info->dtype);
  return scope.get(leaf, stored ? info->dtype : DType::kBf16, shape);
}

}  // namespace spindrift::nn
