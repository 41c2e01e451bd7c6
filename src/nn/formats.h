#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "io/weight_store.h"
#include "nn/linear.h"

// The stored formats of a linear layer: one .cc each, one line in linear.cc's table.
namespace spindrift::nn {

// The size of a layer, or of each of the equally large layers that one set of tensors stacks.
struct LinearSize {
  int64_t out = 0;
  int64_t in = 0;
  int64_t stack = 0;  // layers in the stack: tensors have this dimension first; 0 = not a stack

  // Rows of the whole set: a stack is read as one tall layer and cut up.
  int64_t rows() const { return stack == 0 ? out : stack * out; }
  // The shape of a tensor with `columns` values for each row.
  std::vector<int64_t> shape(int64_t columns) const {
    if (stack == 0) return {out, columns};
    return {stack, out, columns};
  }
};

struct LinearFormat {
  std::string_view name;      // as `inspect` and the documents spell it
  std::string_view expected;  // its tensors, for the error when nothing fits
  // Whether the tensors under the scope claim to be this format; looks at names and dtypes only.
  bool (*claims)(const WeightScope& scope);
  // Reads a layer that claims to be it, [size.rows(), size.in]; `bias` has a value a row or none.
  Result<std::unique_ptr<Linear>> (*load)(const WeightScope& scope, LinearSize size,
                                          std::vector<float> bias);
  bool stacks = false;  // whether stacks of layers are stored in it
};

// `weight` in f32, bf16 or f16.
extern const LinearFormat kDenseFormats[3];
// `weight_packed` U8, `weight_scale` F8_E4M3, `weight_global_scale` F32: nvfp4-pack-quantized.
extern const LinearFormat kNvfp4Format;

// Every format that can be read, as the table in linear.cc lists them.
std::span<const LinearFormat* const> linear_formats();

// W as plain elements, [out, in] row-major; also for slices of a stacked tensor.
std::unique_ptr<Linear> dense_linear(DType dtype, std::span<const std::byte> bytes, LinearSize size,
                                     std::vector<float> bias = {});

// The bias of output columns [first, first + count); empty stays empty.
inline std::vector<float> bias_slice(std::span<const float> bias, int64_t first, int64_t count) {
  if (bias.empty()) return {};
  const auto part = bias.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  return {part.begin(), part.end()};
}

}  // namespace spindrift::nn
