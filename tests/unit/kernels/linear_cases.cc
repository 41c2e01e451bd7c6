#include <cmath>
#include <cstring>
#include <memory>
#include <string>

#include "core/bf16.h"
#include "core/e2m1.h"
#include "core/f16.h"
#include "core/f8e4m3.h"
#include "kernels/registry.h"
#include "unit/kernels/kernel_cases.h"

namespace spindrift::testing {
namespace {

using kernels::InRows;
using kernels::OutRows;
using kernels::Table;
using Ids = std::span<const int64_t>;

std::vector<float> bias_of(int64_t out) { return Noise(29).values(out); }

// Values as they are stored in a float type; each becomes what it can be read back as.
std::vector<std::byte> store(std::vector<float>& values, DType dtype) {
  const auto size = static_cast<size_t>(dtype_bytes(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF32) {
      std::memcpy(bytes.data() + i * size, &values[i], size);
      continue;
    }
    const bool half = dtype == DType::kF16;
    const uint16_t code = half ? f16_from_float(values[i]) : bf16_from_float(values[i]);
    std::memcpy(bytes.data() + i * size, &code, size);
    values[i] = half ? f16_to_float(code) : bf16_to_float(code);
  }
  return bytes;
}

DType dense_dtype(std::string_view kernel) {
  if (kernel == "linear_bf16") return DType::kBf16;
  return kernel == "linear_f16" ? DType::kF16 : DType::kF32;
}

std::string size_text(int64_t in, int64_t out) {
  return std::to_string(in).append("x").append(std::to_string(out));
}

kernels::Epilogue epilogue(const std::vector<float>& bias) {
  return {.scale = 0.375F, .bias = bias};
}

// The double twin of a linear kernel with these weights.
auto exact_linear(std::vector<float> w, int64_t in, std::vector<float> bias) {
  return [w = std::move(w), in, bias = std::move(bias)](
             int64_t, std::span<const float> x, std::span<double> y, std::span<double> magnitude) {
    for (size_t o = 0; o < y.size(); ++o) {
      double sum = 0.0;
      double size = 0.0;
      for (size_t k = 0; k < static_cast<size_t>(in); ++k) {
        const double term =
            static_cast<double>(x[k]) * static_cast<double>(w[o * static_cast<size_t>(in) + k]);
        sum += term;
        size += std::fabs(term);
      }
      const double b = bias.empty() ? 0.0 : static_cast<double>(bias[o]);
      y[o] = sum * 0.375 + b;
      magnitude[o] = size * 0.375 + std::fabs(b);
    }
  };
}

std::vector<RowKernel> dense_cases(std::string_view kernel) {
  return {dense_case(kernel, 1, 1, 0),     dense_case(kernel, 16, 16, 4),
          dense_case(kernel, 37, 5, 1),    dense_case(kernel, 64, 33, 3),
          dense_case(kernel, 530, 19, 63), dense_case(kernel, 1100, 3, 2)};
}

}  // namespace

RowKernel dense_case(std::string_view kernel, int64_t in, int64_t out, size_t misalignment) {
  const DType dtype = dense_dtype(kernel);
  std::vector<float> values = Noise(17).values(in * out);
  const std::vector<float> bias = in % 2 == 0 ? bias_of(out) : std::vector<float>();
  auto member = &Table::linear_f32;
  if (dtype == DType::kBf16) member = &Table::linear_bf16;
  if (dtype == DType::kF16) member = &Table::linear_f16;
  const auto bytes = std::make_shared<const MisalignedBytes>(store(values, dtype), misalignment);
  RowKernel k{std::string(kernel) + " " + std::to_string(in) + "x" + std::to_string(out),
              in,
              out,
              {},
              exact_linear(std::move(values), in, bias),
              0x1p-22};
  k.run = [=](const Table& table, Ids, InRows x, OutRows y) {
    (table.*member)({bytes->view(), out, in}, x, y, {0, out}, epilogue(bias));
  };
  return k;
}

RowKernel nvfp4_case(int64_t in, int64_t out, size_t misalignment) {
  Noise noise(23);
  const std::vector<std::byte> codes = noise.bytes(out * in / 2);
  std::vector<std::byte> scales = noise.bytes(out * in / 16);
  for (std::byte& s : scales) {
    if ((s & std::byte{0x7f}) == std::byte{0x7f}) s = std::byte{0x38};  // no NaN here
  }
  std::vector<float> values;
  for (int64_t i = 0; i < in * out; ++i) {
    const auto code = static_cast<uint8_t>(codes[static_cast<size_t>(i / 2)]);
    const auto scale = static_cast<uint8_t>(scales[static_cast<size_t>(i / 16)]);
    values.push_back((i % 2 == 0 ? e2m1_low(code) : e2m1_high(code)) * f8e4m3_to_float(scale));
  }
  const std::vector<float> bias = out % 2 == 0 ? bias_of(out) : std::vector<float>();
  const auto c = std::make_shared<const MisalignedBytes>(codes, misalignment);
  const auto s = std::make_shared<const MisalignedBytes>(scales, misalignment + 1);
  RowKernel k{"linear_nvfp4 " + std::to_string(in) + "x" + std::to_string(out),
              in,
              out,
              {},
              exact_linear(std::move(values), in, bias),
              0x1p-22};
  k.run = [=](const Table& table, Ids, InRows x, OutRows y) {
    table.linear_nvfp4({c->view(), s->view(), out, in}, x, y, {0, out}, epilogue(bias));
  };
  return k;
}

RowKernel fp8_case(const Fp8Case& c) {
  Noise noise(37);
  std::vector<std::byte> codes = noise.bytes(c.in * c.out);
  for (std::byte& code : codes) {
    if ((code & std::byte{0x7f}) == std::byte{0x7f}) code = std::byte{0x80};  // no NaN here
  }
  const int64_t blocks = (c.in + c.block_columns - 1) / c.block_columns;
  std::vector<float> scales = noise.values(((c.first_row + c.out - 1) / c.block_rows + 1) * blocks);
  const std::vector<std::byte> scale_bytes = store(scales, c.scale_dtype);
  std::vector<float> values;
  for (int64_t o = 0; o < c.out; ++o) {
    for (int64_t k = 0; k < c.in; ++k) {
      const auto code = static_cast<uint8_t>(codes[static_cast<size_t>(o * c.in + k)]);
      const int64_t block = (c.first_row + o) / c.block_rows * blocks + k / c.block_columns;
      values.push_back(f8e4m3_to_float(code) * scales[static_cast<size_t>(block)]);
    }
  }
  const std::vector<float> bias = c.out % 2 == 0 ? bias_of(c.out) : std::vector<float>();
  const auto w = std::make_shared<const MisalignedBytes>(codes, c.misalignment);
  const auto s = std::make_shared<const MisalignedBytes>(scale_bytes, c.misalignment + 1);
  RowKernel k{"linear_fp8 " + size_text(c.in, c.out),      c.in,   c.out, {},
              exact_linear(std::move(values), c.in, bias), 0x1p-22};
  k.run = [=](const Table& table, Ids, InRows x, OutRows y) {
    const kernels::Fp8Matrix matrix{.codes = w->view(),
                                    .scales = s->view(),
                                    .scale_dtype = c.scale_dtype,
                                    .block_rows = c.block_rows,
                                    .block_columns = c.block_columns,
                                    .first_row = c.first_row,
                                    .out = c.out,
                                    .in = c.in};
    table.linear_fp8(matrix, x, y, {0, c.out}, epilogue(bias));
  };
  return k;
}

RowKernel packed_case(std::string_view kernel, const PackedCase& c) {
  const bool affine = kernel == "linear_affine";
  kernels::PackedMatrix matrix{.codes = {},
                               .scales = {},
                               .biases = {},
                               .scale_dtype = c.scale_dtype,
                               .bits = c.bits,
                               .group = c.group,
                               .out = c.out,
                               .in = c.in};
  Noise noise(41);
  const std::vector<std::byte> codes = noise.bytes(c.out * matrix.row_bytes());
  std::vector<float> scales = noise.values(c.out * matrix.groups());
  std::vector<float> biases = noise.values(c.out * matrix.groups());
  const std::vector<std::byte> scale_bytes = store(scales, c.scale_dtype);
  const std::vector<std::byte> bias_bytes = store(biases, c.scale_dtype);
  std::vector<float> values;
  for (int64_t o = 0; o < c.out; ++o) {
    for (int64_t k = 0; k < c.in; ++k) {
      const auto byte = codes[static_cast<size_t>(o * matrix.row_bytes() + k * c.bits / 8)];
      int code = std::to_integer<int>(byte);
      if (c.bits == 4) code = k % 2 == 0 ? code & 0xf : code >> 4;
      const auto group = static_cast<size_t>(o * matrix.groups() + k / c.group);
      values.push_back(affine ? std::fma(static_cast<float>(code), scales[group], biases[group])
                              : static_cast<float>(code - (c.bits == 4 ? 8 : 128)) * scales[group]);
    }
  }
  const std::vector<float> bias = c.out % 2 == 0 ? bias_of(c.out) : std::vector<float>();
  const auto w = std::make_shared<const MisalignedBytes>(codes, c.misalignment);
  const auto s = std::make_shared<const MisalignedBytes>(scale_bytes, c.misalignment + 1);
  const auto b = std::make_shared<const MisalignedBytes>(bias_bytes, c.misalignment + 3);
  RowKernel k{
      std::string(kernel).append(std::to_string(c.bits)).append(" ").append(size_text(c.in, c.out)),
      c.in,
      c.out,
      {},
      exact_linear(std::move(values), c.in, bias),
      0x1p-22};
  k.run = [=](const Table& table, Ids, InRows x, OutRows y) mutable {
    kernels::PackedMatrix m = matrix;
    m.codes = w->view();
    m.scales = s->view();
    if (affine) m.biases = b->view();
    (affine ? table.linear_affine : table.linear_int)(m, x, y, {0, c.out}, epilogue(bias));
  };
  return k;
}

namespace {

std::vector<RowKernel> fp8_cases() {
  return {
      fp8_case({.in = 1, .out = 1}),
      fp8_case({.in = 16, .out = 33, .misalignment = 3}),
      fp8_case({.in = 300, .out = 140, .misalignment = 1}),
      fp8_case({.in = 1111, .out = 5, .scale_dtype = DType::kF32, .first_row = 126}),
      fp8_case(
          {.in = 640, .out = 6, .scale_dtype = DType::kF16, .block_rows = 1, .block_columns = 640}),
      fp8_case({.in = 90, .out = 20, .block_rows = 3, .block_columns = 48})};
}

std::vector<RowKernel> packed_cases(std::string_view kernel) {
  std::vector<RowKernel> cases;
  for (const int bits : {4, 8}) {
    for (const PackedCase& c : {
             PackedCase{.in = 16, .out = 1, .group = 16},
             PackedCase{.in = 128, .out = 40, .group = 64, .misalignment = 1},
             PackedCase{.in = 512, .out = 17, .group = 128, .misalignment = 5},
             PackedCase{.in = 1056, .out = 6, .group = 32, .scale_dtype = DType::kF16},
             PackedCase{.in = 144, .out = 19, .group = 48, .scale_dtype = DType::kF32},
             PackedCase{.in = 1099, .out = 5, .group = 1104, .misalignment = 2},
             PackedCase{.in = 37, .out = 4, .group = 16},
         }) {
      PackedCase sized = c;
      sized.bits = bits;
      cases.push_back(packed_case(kernel, sized));
    }
  }
  return cases;
}

}  // namespace

std::vector<RowKernel> linear_cases(std::string_view kernel) {
  if (kernel == "linear_fp8") return fp8_cases();
  if (kernel == "linear_int" || kernel == "linear_affine") return packed_cases(kernel);
  if (kernel == "linear_nvfp4") {
    return {nvfp4_case(16, 1, 0), nvfp4_case(64, 40, 5), nvfp4_case(256, 17, 1),
            nvfp4_case(1104, 6, 3)};
  }
  if (kernel == "linear_f32" || kernel == "linear_bf16" || kernel == "linear_f16")
    return dense_cases(kernel);
  return {};
}

}  // namespace spindrift::testing
