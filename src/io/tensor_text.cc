#include "io/tensor_text.h"

namespace spindrift {

std::string shape_text(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(shape[i]);
  }
  return out + "]";
}

std::string tensor_text(DType dtype, std::span<const int64_t> shape) {
  return std::string(dtype_name(dtype)) + " " + shape_text(shape);
}

}  // namespace spindrift
