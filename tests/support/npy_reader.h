#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace spindrift::testing {

// A C-ordered NumPy file in memory. values: the elements as float32 (exact for kF32; integers up to
// 2^24).
struct NpyArray {
  DType dtype;  // kF32, kI32 or kI64, as in the file
  std::vector<int64_t> shape;
  std::vector<float> values;

  int64_t rows() const { return shape.empty() ? 1 : shape[0]; }
  int64_t cols() const { return shape.size() < 2 ? 1 : shape[1]; }
  const float* row(int64_t r) const { return values.data() + r * cols(); }
};

// Reads versions 1 to 3 of the format in little-endian, C order.
Result<NpyArray> read_npy(const std::filesystem::path& path);

}  // namespace spindrift::testing
