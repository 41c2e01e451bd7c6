#include <string>
#include <utility>

#include "nn/float_tensor.h"
#include "nn/formats.h"

namespace spindrift::nn {
namespace {

// 4 or 8, by the words of a row; 0 when these fit neither width.
int bits_of(const TensorInfo& weight, int64_t in) {
  if (weight.shape.empty() || in % 8 != 0) return 0;
  const int64_t words = weight.shape.back();
  return words == in / 8 ? 4 : words == in / 4 ? 8 : 0;
}

bool claims(const WeightScope& scope) {
  const TensorInfo* weight = scope.find("weight");
  return weight != nullptr && weight->dtype == DType::kU32 && scope.has("biases");
}

std::string_view variant(const WeightScope& scope, int64_t in) {
  const int bits = bits_of(*scope.find("weight"), in);
  return bits == 4 ? "affine4" : bits == 8 ? "affine8" : "affine";
}

// Columns that share a scale and a bias; 0 when the scales are not those of 32, 64 or 128.
int64_t group_of(const TensorInfo* scales, int64_t in) {
  if (scales == nullptr || scales->shape.empty()) return 0;
  for (const int64_t group : {32, 64, 128})
    if (in % group == 0 && in / group == scales->shape.back()) return group;
  return 0;
}

Result<std::unique_ptr<Linear>> load(const WeightScope& scope, LinearSize size,
                                     std::vector<float> bias) {
  const int bits = bits_of(*scope.find("weight"), size.in);
  if (bits == 0) {
    return scope.mismatch("weight", "U32 " + size.shape_text(size.in / 8) + " (4 bits) or " +
                                        size.shape_text(size.in / 4) + " (8 bits)");
  }
  const int64_t group = group_of(scope.find("scales"), size.in);
  if (group == 0) {
    return scope.mismatch("scales", size.shape_text("groups") +
                                        " with groups of 32, 64 or 128 of " +
                                        std::to_string(size.in) + " columns");
  }
  SPINDRIFT_TRY(const TensorView codes,
                scope.get("weight", DType::kU32, size.shape(size.in * bits / 32)));
  const std::vector<int64_t> groups = size.shape(size.in / group);
  SPINDRIFT_TRY(const TensorView scales, get_float(scope, "scales", groups));
  SPINDRIFT_TRY(const TensorView biases, scope.get("biases", scales.dtype, groups));
  return packed_linear({.codes = codes.bytes,
                        .scales = scales.bytes,
                        .biases = biases.bytes,
                        .scale_dtype = scales.dtype,
                        .bits = bits,
                        .group = group,
                        .out = size.rows(),
                        .in = size.in},
                       std::move(bias));
}

constexpr std::string_view kLeaves[] = {"weight", "scales", "biases"};

}  // namespace

const LinearFormat kAffineFormat = {.name = "affine",
                                    .expected = "weight U32 with scales and biases",
                                    .leaves = kLeaves,
                                    .claims = &claims,
                                    .load = &load,
                                    .variant = &variant,
                                    .stacks = true};

}  // namespace spindrift::nn
