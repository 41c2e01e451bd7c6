#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
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
  // The same for a message; `columns` may be a word.
  std::string shape_text(std::string_view columns) const {
    std::string text = "[";
    if (stack != 0) text.append(std::to_string(stack)).append(", ");
    return text.append(std::to_string(out)).append(", ").append(columns).append("]");
  }
  std::string shape_text(int64_t columns) const { return shape_text(std::to_string(columns)); }
};

struct LinearFormat {
  std::string_view name;                     // as `inspect` and the documents spell it
  std::string_view expected;                 // its tensors, for the error when nothing fits
  std::span<const std::string_view> leaves;  // the tensors that load() accounts for, bias aside
  // Whether the tensors under the scope claim to be this format; looks at names and dtypes only.
  bool (*claims)(const WeightScope& scope);
  // Reads a layer that claims to be it, [size.rows(), size.in]; `bias` has a value a row or none.
  Result<std::unique_ptr<Linear>> (*load)(const WeightScope& scope, LinearSize size,
                                          std::vector<float> bias);
  // The name that tells widths of codes apart, for a layer with `in` columns that claims to be it;
  // null when there is one width.
  std::string_view (*variant)(const WeightScope& scope, int64_t in) = nullptr;
  bool stacks = false;  // whether stacks of layers are stored in it
};

// `weight` in f32, bf16 or f16.
extern const LinearFormat kDenseFormats[3];
// `weight_packed` U8, `weight_scale` F8_E4M3, `weight_global_scale` F32: nvfp4-pack-quantized.
extern const LinearFormat kNvfp4Format;
// `weight` U32, `scales` U8: the mode nvfp4 of MLX.
extern const LinearFormat kMlxNvfp4Format;
// `weight` F8_E4M3, `weight_scale` BF16, F16 or F32: float-quantized.
extern const LinearFormat kFp8Format;
// `weight_packed` I32, `weight_scale`, `weight_shape`: pack-quantized.
extern const LinearFormat kIntFormat;
// `weight` U32, `scales`, `biases`: the mode affine of MLX.
extern const LinearFormat kAffineFormat;

// Every format that can be read, as the table in linear.cc lists them.
std::span<const LinearFormat* const> linear_formats();

// W as plain elements, [out, in] row-major; also for slices of a stacked tensor.
std::unique_ptr<Linear> dense_linear(DType dtype, std::span<const std::byte> bytes, LinearSize size,
                                     std::vector<float> bias = {});

// W as groups of codes in place; `biases` of the matrix decide between affine and int.
std::unique_ptr<Linear> packed_linear(const kernels::PackedMatrix& weights,
                                      std::vector<float> bias);

// The bias of output columns [first, first + count); empty stays empty.
inline std::vector<float> bias_slice(std::span<const float> bias, int64_t first, int64_t count) {
  if (bias.empty()) return {};
  const auto part = bias.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  return {part.begin(), part.end()};
}

}  // namespace spindrift::nn
