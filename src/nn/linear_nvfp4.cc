#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "core/e2m1.h"
#include "core/f8e4m3.h"
#include "nn/formats.h"

namespace spindrift::nn {
namespace {

constexpr int64_t kGroup = 16;  // columns that share one block scale

class Nvfp4Linear final : public Linear {
 public:
  Nvfp4Linear(std::string_view format, const kernels::Nvfp4Matrix& weights, float global,
              std::vector<float> bias)
      : Linear(weights.out, weights.in),
        format_(format),
        weights_(weights),
        global_(global),
        bias_(std::move(bias)) {}

  void read_row(int64_t o, std::span<float> row) const override {
    const std::byte* codes = weights_.codes.data() + o * (in() / 2);
    const std::byte* scales = weights_.scales.data() + o * (in() / kGroup);
    for (size_t k = 0; k < row.size(); ++k) {
      const auto pair = std::to_integer<uint8_t>(codes[k / 2]);
      const float block = f8e4m3_to_float(std::to_integer<uint8_t>(scales[k / kGroup]));
      row[k] = (k % 2 == 0 ? e2m1_low(pair) : e2m1_high(pair)) * block / global_;
    }
  }
  std::unique_ptr<Linear> slice(int64_t first, int64_t count) const override {
    const auto rows = [&](std::span<const std::byte> bytes, int64_t row_bytes) {
      return bytes.subspan(static_cast<size_t>(first * row_bytes),
                           static_cast<size_t>(count * row_bytes));
    };
    const kernels::Nvfp4Matrix part{.codes = rows(weights_.codes, in() / 2),
                                    .scales = rows(weights_.scales, in() / kGroup),
                                    .out = count,
                                    .in = in()};
    return std::make_unique<Nvfp4Linear>(format_, part, global_, bias_slice(bias_, first, count));
  }
  std::string_view format() const override { return format_; }
  int64_t bytes() const override {
    return static_cast<int64_t>(weights_.codes.size() + weights_.scales.size());
  }

 private:
  void do_columns(kernels::InRows x, kernels::OutRows y, kernels::Columns columns,
                  const kernels::Table& kernels) const override {
    kernels.linear_nvfp4(weights_, x, y, columns, {.scale = 1.0F / global_, .bias = bias_});
  }

  std::string_view format_;
  kernels::Nvfp4Matrix weights_;
  float global_;  // divides weights, and as a factor finished dots; 1 where there is none
  std::vector<float> bias_;
};

bool claims(const WeightScope& scope) {
  const TensorInfo* info = scope.find("weight_packed");
  return info != nullptr && info->dtype == DType::kU8;
}

// The tensor's own scale, stored as a reciprocal: F32 [] or [1], finite and positive.
Result<float> load_global_scale(const WeightScope& scope) {
  constexpr std::string_view kLeaf = "weight_global_scale";
  const TensorInfo* info = scope.find(kLeaf);
  const bool scalar = info != nullptr && info->shape.empty();
  SPINDRIFT_TRY(const TensorView view,
                scalar ? scope.get(kLeaf, DType::kF32, {}) : scope.get(kLeaf, DType::kF32, {1}));
  float global = 0.0F;
  std::memcpy(&global, view.bytes.data(), sizeof(global));
  if (!(global > 0.0F) || !std::isfinite(global) || !std::isfinite(1.0F / global)) {
    return Error{ErrorCode::kInvalid, scope.store->where() + ": tensor `" + scope.name(kLeaf) +
                                          "`: expected a finite number above 0, found " +
                                          std::to_string(global)};
  }
  return global;
}

Status check_columns(const WeightScope& scope, LinearSize size) {
  if (size.in % kGroup == 0) return ok_status();
  return Error{ErrorCode::kUnsupported, scope.store->where() + ": layer `" + scope.prefix +
                                            "`: expected a multiple of 16 input columns for "
                                            "nvfp4, found " +
                                            std::to_string(size.in)};
}

Result<std::unique_ptr<Linear>> load(const WeightScope& scope, LinearSize size,
                                     std::vector<float> bias) {
  SPINDRIFT_TRY_STATUS(check_columns(scope, size));
  SPINDRIFT_TRY(const TensorView codes,
                scope.get("weight_packed", DType::kU8, {size.out, size.in / 2}));
  SPINDRIFT_TRY(const TensorView scales,
                scope.get("weight_scale", DType::kF8E4M3, {size.out, size.in / kGroup}));
  SPINDRIFT_TRY(const float global, load_global_scale(scope));
  scope.ignore("input_global_scale");  // only for quantised activations
  const kernels::Nvfp4Matrix weights{
      .codes = codes.bytes, .scales = scales.bytes, .out = size.out, .in = size.in};
  std::unique_ptr<Linear> layer =
      std::make_unique<Nvfp4Linear>(kNvfp4Format.name, weights, global, std::move(bias));
  return layer;
}

// The same codes and block scales in other words, and no scale of the whole tensor.
bool claims_mlx(const WeightScope& scope) {
  const TensorInfo* weight = scope.find("weight");
  if (weight == nullptr || weight->dtype != DType::kU32) return false;
  const TensorInfo* scales = scope.find("scales");
  return scales != nullptr && scales->dtype == DType::kU8;
}

Result<std::unique_ptr<Linear>> load_mlx(const WeightScope& scope, LinearSize size,
                                         std::vector<float> bias) {
  SPINDRIFT_TRY_STATUS(check_columns(scope, size));
  SPINDRIFT_TRY(const TensorView codes, scope.get("weight", DType::kU32, size.shape(size.in / 8)));
  SPINDRIFT_TRY(const TensorView scales,
                scope.get("scales", DType::kU8, size.shape(size.in / kGroup)));
  const kernels::Nvfp4Matrix weights{
      .codes = codes.bytes, .scales = scales.bytes, .out = size.rows(), .in = size.in};
  std::unique_ptr<Linear> layer =
      std::make_unique<Nvfp4Linear>(kMlxNvfp4Format.name, weights, 1.0F, std::move(bias));
  return layer;
}

constexpr std::string_view kLeaves[] = {"weight_packed", "weight_scale", "weight_global_scale"};
constexpr std::string_view kMlxLeaves[] = {"weight", "scales"};

}  // namespace

const LinearFormat kNvfp4Format = {
    .name = "nvfp4",
    .expected = "weight_packed U8 with weight_scale and weight_global_scale",
    .leaves = kLeaves,
    .claims = &claims,
    .load = &load};

const LinearFormat kMlxNvfp4Format = {.name = "mlx-nvfp4",
                                      .expected = "weight U32 with scales U8",
                                      .leaves = kMlxLeaves,
                                      .claims = &claims_mlx,
                                      .load = &load_mlx,
                                      .stacks = true};

}  // namespace spindrift::nn
