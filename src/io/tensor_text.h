#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/dtype.h"

namespace spindrift {

std::string shape_text(std::span<const int64_t> shape);                // "[2, 3]"
std::string tensor_text(DType dtype, std::span<const int64_t> shape);  // "BF16 [2, 3]"

}  // namespace spindrift
