#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "nn/float_tensor.h"
#include "nn/formats.h"

namespace spindrift::nn {
namespace {

int64_t words(int64_t in, int bits) { return (in * bits + 31) / 32; }

// 4 or 8, by the words of a row; 0 when these fit neither width, or both.
int bits_of(const TensorInfo& packed, int64_t in) {
  if (packed.shape.size() != 2 || words(in, 4) == words(in, 8)) return 0;
  const int64_t found = packed.shape[1];
  return found == words(in, 4) ? 4 : found == words(in, 8) ? 8 : 0;
}

bool claims(const WeightScope& scope) {
  const TensorInfo* info = scope.find("weight_packed");
  return info != nullptr && info->dtype == DType::kI32;
}

std::string_view variant(const WeightScope& scope, int64_t in) {
  const int bits = bits_of(*scope.find("weight_packed"), in);
  return bits == 4 ? "int4" : bits == 8 ? "int8" : "int";
}

// The tensor says the shape that it had before packing.
Status check_shape(const WeightScope& scope, LinearSize size) {
  constexpr std::string_view kLeaf = "weight_shape";
  SPINDRIFT_TRY(const TensorView view, scope.get(kLeaf, DType::kI64, {2}));
  std::array<int64_t, 2> shape{};
  std::memcpy(shape.data(), view.bytes.data(), sizeof(shape));
  if (shape[0] == size.out && shape[1] == size.in) return ok_status();
  return Error{ErrorCode::kInvalid, std::string(scope.find(kLeaf)->file) + ": tensor `" +
                                        scope.name(kLeaf) + "`: expected the values " +
                                        std::to_string(size.out) + ", " + std::to_string(size.in) +
                                        ", found " + std::to_string(shape[0]) + ", " +
                                        std::to_string(shape[1])};
}

// Columns that share a scale: any multiple of 16 that divides the columns, or all of them.
Result<TensorView> load_scales(const WeightScope& scope, LinearSize size, int64_t& group) {
  constexpr std::string_view kLeaf = "weight_scale";
  const TensorInfo* info = scope.find(kLeaf);
  const int64_t groups = info != nullptr && info->shape.size() == 2 ? info->shape[1] : 0;
  if (groups == 1) {
    group = (size.in + 15) / 16 * 16;
  } else if (groups > 1 && size.in % groups == 0 && size.in / groups % 16 == 0) {
    group = size.in / groups;
  } else {
    return scope.mismatch(kLeaf, size.shape_text("groups") + " with groups of " +
                                     std::to_string(size.in) +
                                     " columns or of a multiple of 16 that divides them");
  }
  return get_float(scope, kLeaf, std::array{size.out, groups});
}

Result<std::unique_ptr<Linear>> load(const WeightScope& scope, LinearSize size,
                                     std::vector<float> bias) {
  constexpr std::string_view kLeaf = "weight_packed";
  const int bits = bits_of(*scope.find(kLeaf), size.in);
  if (bits == 0) {
    return scope.mismatch(kLeaf, "I32 " + size.shape_text(words(size.in, 4)) + " (4 bits) or " +
                                     size.shape_text(words(size.in, 8)) + " (8 bits)");
  }
  SPINDRIFT_TRY(const TensorView codes,
                scope.get(kLeaf, DType::kI32, {size.out, words(size.in, bits)}));
  SPINDRIFT_TRY_STATUS(check_shape(scope, size));
  int64_t group = 0;
  SPINDRIFT_TRY(const TensorView scales, load_scales(scope, size, group));
  return packed_linear({.codes = codes.bytes,
                        .scales = scales.bytes,
                        .biases = {},
                        .scale_dtype = scales.dtype,
                        .bits = bits,
                        .group = group,
                        .out = size.out,
                        .in = size.in},
                       std::move(bias));
}

constexpr std::string_view kLeaves[] = {"weight_packed", "weight_scale", "weight_shape"};

}  // namespace

const LinearFormat kIntFormat = {.name = "int",
                                 .expected = "weight_packed I32 with weight_scale and weight_shape",
                                 .leaves = kLeaves,
                                 .claims = &claims,
                                 .load = &load,
                                 .variant = &variant};

}  // namespace spindrift::nn
