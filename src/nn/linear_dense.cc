#include <cstring>
#include <string>
#include <utility>

#include "core/check.h"
#include "nn/formats.h"
#include "nn/to_float.h"

namespace spindrift::nn {
namespace {

std::string_view format_name(DType dtype) {
  return dtype == DType::kF32 ? "f32" : dtype == DType::kBf16 ? "bf16" : "f16";
}

class DenseLinear final : public Linear {
 public:
  DenseLinear(DType dtype, std::span<const std::byte> bytes, LinearSize size,
              std::vector<float> bias)
      : Linear(size.out, size.in),
        dtype_(dtype),
        weights_{.bytes = bytes, .out = size.out, .in = size.in},
        bias_(std::move(bias)) {}

  void read_row(int64_t o, std::span<float> row) const override {
    const auto row_bytes = static_cast<size_t>(in() * dtype_bytes(dtype_));
    to_float(dtype_, weights_.bytes.subspan(static_cast<size_t>(o) * row_bytes, row_bytes), row);
  }
  std::unique_ptr<Linear> slice(int64_t first, int64_t count) const override {
    const int64_t row_bytes = in() * dtype_bytes(dtype_);
    const auto part = weights_.bytes.subspan(static_cast<size_t>(first * row_bytes),
                                             static_cast<size_t>(count * row_bytes));
    return dense_linear(dtype_, part, {.out = count, .in = in()}, bias_slice(bias_, first, count));
  }
  std::string_view format() const override { return format_name(dtype_); }
  int64_t bytes() const override { return static_cast<int64_t>(weights_.bytes.size()); }

 private:
  void do_columns(kernels::InRows x, kernels::OutRows y, kernels::Columns columns,
                  const kernels::Table& kernels) const override {
    const kernels::LinearDenseFn linear = dtype_ == DType::kF32    ? kernels.linear_f32
                                          : dtype_ == DType::kBf16 ? kernels.linear_bf16
                                                                   : kernels.linear_f16;
    linear(weights_, x, y, columns, {.scale = 1.0F, .bias = bias_});
  }

  DType dtype_;
  kernels::DenseMatrix weights_;
  std::vector<float> bias_;
};

template <DType kDtype>
bool claims(const WeightScope& scope) {
  const TensorInfo* info = scope.find("weight");
  return info != nullptr && info->dtype == kDtype;
}

template <DType kDtype>
Result<std::unique_ptr<Linear>> load(const WeightScope& scope, LinearSize size,
                                     std::vector<float> bias) {
  SPINDRIFT_TRY(const TensorView weight, scope.get("weight", kDtype, size.shape(size.in)));
  return dense_linear(kDtype, weight.bytes, {.out = size.rows(), .in = size.in}, std::move(bias));
}

constexpr std::string_view kLeaves[] = {"weight"};

template <DType kDtype>
constexpr LinearFormat describe(std::string_view name, std::string_view expected) {
  return {.name = name,
          .expected = expected,
          .leaves = kLeaves,
          .claims = &claims<kDtype>,
          .load = &load<kDtype>,
          .stacks = true};
}

}  // namespace

const LinearFormat kDenseFormats[3] = {describe<DType::kBf16>("bf16", "weight BF16"),
                                       describe<DType::kF16>("f16", "weight F16"),
                                       describe<DType::kF32>("f32", "weight F32")};

std::unique_ptr<Linear> dense_linear(DType dtype, std::span<const std::byte> bytes, LinearSize size,
                                     std::vector<float> bias) {
  SPINDRIFT_CHECK(static_cast<int64_t>(bytes.size()) == size.out * size.in * dtype_bytes(dtype),
                  "a dense layer has out * in elements");
  return std::make_unique<DenseLinear>(dtype, bytes, size, std::move(bias));
}

}  // namespace spindrift::nn
