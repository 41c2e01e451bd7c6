#include <cmath>
#include <memory>
#include <utility>

#include "core/check.h"
#include "kernels/elements.h"
#include "nn/formats.h"

namespace spindrift::nn {
namespace {

class PackedLinear final : public Linear {
 public:
  PackedLinear(const kernels::PackedMatrix& weights, std::vector<float> bias)
      : Linear(weights.out, weights.in), weights_(weights), bias_(std::move(bias)) {}

  void read_row(int64_t o, std::span<float> row) const override {
    const int offset = 1 << (weights_.bits - 1);
    for (int64_t k = 0; k < in(); ++k) {
      const int64_t group = o * weights_.groups() + k / weights_.group;
      const int code = kernels::packed_code(weights_, o, k);
      const float scale = element(weights_.scales, group);
      row[static_cast<size_t>(k)] =
          affine() ? std::fma(static_cast<float>(code), scale, element(weights_.biases, group))
                   : static_cast<float>(code - offset) * scale;
    }
  }
  std::unique_ptr<Linear> slice(int64_t first, int64_t count) const override {
    const auto rows = [&](std::span<const std::byte> bytes, int64_t row_bytes) {
      if (bytes.empty()) return bytes;
      return bytes.subspan(static_cast<size_t>(first * row_bytes),
                           static_cast<size_t>(count * row_bytes));
    };
    const int64_t scale_bytes = weights_.groups() * dtype_bytes(weights_.scale_dtype);
    kernels::PackedMatrix part = weights_;
    part.codes = rows(weights_.codes, weights_.row_bytes());
    part.scales = rows(weights_.scales, scale_bytes);
    part.biases = rows(weights_.biases, scale_bytes);
    part.out = count;
    return std::make_unique<PackedLinear>(part, bias_slice(bias_, first, count));
  }
  std::string_view format() const override {
    if (affine()) return weights_.bits == 4 ? "affine4" : "affine8";
    return weights_.bits == 4 ? "int4" : "int8";
  }
  int64_t bytes() const override {
    return static_cast<int64_t>(weights_.codes.size() + weights_.scales.size() +
                                weights_.biases.size());
  }

 private:
  bool affine() const { return !weights_.biases.empty(); }
  float element(std::span<const std::byte> values, int64_t index) const {
    return kernels::float_element(weights_.scale_dtype, values.data(), index);
  }
  void do_columns(kernels::InRows x, kernels::OutRows y, kernels::Columns columns,
                  const kernels::Table& kernels) const override {
    (affine() ? kernels.linear_affine : kernels.linear_int)(weights_, x, y, columns,
                                                            {.scale = 1.0F, .bias = bias_});
  }

  kernels::PackedMatrix weights_;
  std::vector<float> bias_;
};

}  // namespace

std::unique_ptr<Linear> packed_linear(const kernels::PackedMatrix& weights,
                                      std::vector<float> bias) {
  SPINDRIFT_CHECK(weights.group % 16 == 0 && (weights.bits == 4 || weights.bits == 8),
                  "a matrix that the kernels read");
  return std::make_unique<PackedLinear>(weights, std::move(bias));
}

}  // namespace spindrift::nn
