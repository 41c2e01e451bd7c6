#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "core/f8e4m3.h"
#include "kernels/elements.h"
#include "nn/float_tensor.h"
#include "nn/formats.h"

namespace spindrift::nn {
namespace {

constexpr int64_t kBlock = 128;  // rows and columns that share one scale

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

class Fp8Linear final : public Linear {
 public:
  Fp8Linear(const kernels::Fp8Matrix& weights, std::vector<float> bias)
      : Linear(weights.out, weights.in), weights_(weights), bias_(std::move(bias)) {}

  void read_row(int64_t o, std::span<float> row) const override {
    const std::byte* codes = weights_.codes.data() + o * in();
    const int64_t first = (weights_.first_row + o) / weights_.block_rows * blocks();
    for (int64_t k = 0; k < in(); ++k) {
      const float scale = kernels::float_element(weights_.scale_dtype, weights_.scales.data(),
                                                 first + k / weights_.block_columns);
      row[static_cast<size_t>(k)] = f8e4m3_to_float(std::to_integer<uint8_t>(codes[k])) * scale;
    }
  }
  std::unique_ptr<Linear> slice(int64_t first, int64_t count) const override {
    kernels::Fp8Matrix part = weights_;
    part.codes = weights_.codes.subspan(static_cast<size_t>(first * in()),
                                        static_cast<size_t>(count * in()));
    const int64_t row = weights_.first_row + first;
    const int64_t block = row / weights_.block_rows;
    part.first_row = row % weights_.block_rows;
    const int64_t row_bytes = blocks() * dtype_bytes(weights_.scale_dtype);
    const int64_t block_rows = divide_up(part.first_row + count, weights_.block_rows);
    part.scales = weights_.scales.subspan(static_cast<size_t>(block * row_bytes),
                                          static_cast<size_t>(block_rows * row_bytes));
    part.out = count;
    return std::make_unique<Fp8Linear>(part, bias_slice(bias_, first, count));
  }
  std::string_view format() const override { return kFp8Format.name; }
  int64_t bytes() const override {
    return static_cast<int64_t>(weights_.codes.size() + weights_.scales.size());
  }

 private:
  void do_columns(kernels::InRows x, kernels::OutRows y, kernels::Columns columns,
                  const kernels::Table& kernels) const override {
    kernels.linear_fp8(weights_, x, y, columns, {.scale = 1.0F, .bias = bias_});
  }
  int64_t blocks() const { return divide_up(in(), weights_.block_columns); }  // in a row of blocks

  kernels::Fp8Matrix weights_;
  std::vector<float> bias_;
};

bool claims(const WeightScope& scope) {
  const TensorInfo* info = scope.find("weight");
  return info != nullptr && info->dtype == DType::kF8E4M3;
}

// Rows and columns of a block, by the shape of the scales: one for 128 x 128 weights, for a row, or
// for the whole tensor.
Status find_blocks(const WeightScope& scope, kernels::Fp8Matrix& weights) {
  constexpr std::string_view kLeaf = "weight_scale";
  const int64_t whole_row = divide_up(weights.in, 16) * 16;
  const std::vector<int64_t> blocks = {divide_up(weights.out, kBlock),
                                       divide_up(weights.in, kBlock)};
  const TensorInfo* info = scope.find(kLeaf);
  const std::vector<int64_t> shape = info == nullptr ? blocks : info->shape;
  const bool one = shape.empty() || shape == std::vector<int64_t>{1};
  if (shape == std::vector<int64_t>{weights.out, 1}) {
    weights.block_rows = 1;
    weights.block_columns = whole_row;
  } else if (one) {
    weights.block_rows = weights.out;
    weights.block_columns = whole_row;
  } else if (shape != blocks) {
    const LinearSize grid{.out = blocks[0]}, rows{.out = weights.out};
    return scope.mismatch(kLeaf, grid.shape_text(blocks[1]) + " (blocks of 128 x 128), " +
                                     rows.shape_text(1) + " (rows) or [1]");
  }
  SPINDRIFT_TRY(const TensorView scales, get_float(scope, kLeaf, shape));
  weights.scales = scales.bytes;
  weights.scale_dtype = scales.dtype;
  if (!one) return ok_status();
  const float scale = kernels::float_element(scales.dtype, scales.bytes.data(), 0);
  if (std::isfinite(scale)) return ok_status();
  return Error{ErrorCode::kInvalid, std::string(info->file) + ": tensor `" + scope.name(kLeaf) +
                                        "`: expected a finite number, found " +
                                        std::to_string(scale)};
}

Result<std::unique_ptr<Linear>> load(const WeightScope& scope, LinearSize size,
                                     std::vector<float> bias) {
  SPINDRIFT_TRY(const TensorView codes, scope.get("weight", DType::kF8E4M3, {size.out, size.in}));
  kernels::Fp8Matrix weights{.codes = codes.bytes,
                             .scales = {},
                             .scale_dtype = DType::kBf16,
                             .block_rows = kBlock,
                             .block_columns = kBlock,
                             .first_row = 0,
                             .out = size.out,
                             .in = size.in};
  SPINDRIFT_TRY_STATUS(find_blocks(scope, weights));
  scope.ignore("input_scale");  // only for quantised activations
  std::unique_ptr<Linear> layer = std::make_unique<Fp8Linear>(weights, std::move(bias));
  return layer;
}

constexpr std::string_view kLeaves[] = {"weight", "weight_scale"};

}  // namespace

const LinearFormat kFp8Format = {.name = "fp8",
                                 .expected = "weight F8_E4M3 with weight_scale",
                                 .leaves = kLeaves,
                                 .claims = &claims,
                                 .load = &load};

}  // namespace spindrift::nn
