// Linear kernels on one core against its roofline. Each matrix is repeated in memory until it is
// far larger than the caches of a core (except for the demo size, which lives in them), and each
// iteration takes the next copy, as a forward takes the next layer.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench_support.h"
#include "core/aligned.h"
#include "kernels/contract.h"

namespace spindrift::bench {
namespace {

enum class Format { kF32, kBf16, kF16, kNvfp4, kFp8, kInt4, kInt8, kAffine4, kAffine8 };

struct Size {
  int64_t out;
  int64_t in;
  bool cached;
};

int64_t bits_of(Format format) {
  return format == Format::kInt4 || format == Format::kAffine4 ? 4 : 8;
}
// Columns that share a bfloat16 scale, as checkpoints have it.
int64_t group_of(Format format) {
  return format == Format::kInt4 || format == Format::kInt8 ? 128 : 64;
}
int64_t fp8_scale_bytes(const Size& s) { return (s.out + 127) / 128 * ((s.in + 127) / 128) * 2; }

int64_t matrix_bytes(Format format, const Size& s) {
  switch (format) {
    case Format::kF32:
      return s.out * s.in * 4;
    case Format::kBf16:
    case Format::kF16:
      return s.out * s.in * 2;
    case Format::kNvfp4:
      return s.out * s.in / 2 + s.out * s.in / 16;
    case Format::kFp8:
      return s.out * s.in + fp8_scale_bytes(s);
    case Format::kInt4:
    case Format::kInt8:
      return s.out * s.in * bits_of(format) / 8 + s.out * s.in / group_of(format) * 2;
    case Format::kAffine4:
    case Format::kAffine8:
      return s.out * s.in * bits_of(format) / 8 + s.out * s.in / group_of(format) * 4;
  }
  return 0;
}

kernels::PackedMatrix packed(Format format, const Size& s, std::span<const std::byte> w) {
  const auto codes = static_cast<size_t>(s.out * s.in * bits_of(format) / 8);
  const auto scales = static_cast<size_t>(s.out * s.in / group_of(format) * 2);
  return {.codes = w.first(codes),
          .scales = w.subspan(codes, scales),
          .biases = w.subspan(codes + scales),
          .scale_dtype = DType::kBf16,
          .bits = static_cast<int>(bits_of(format)),
          .group = group_of(format),
          .out = s.out,
          .in = s.in};
}

void call(Format format, const Size& s, std::span<const std::byte> w, kernels::InRows x,
          kernels::OutRows y) {
  const kernels::Table& t = table();
  const kernels::Columns all{0, s.out};
  switch (format) {
    case Format::kF32:
      return t.linear_f32({w, s.out, s.in}, x, y, all, {});
    case Format::kBf16:
      return t.linear_bf16({w, s.out, s.in}, x, y, all, {});
    case Format::kF16:
      return t.linear_f16({w, s.out, s.in}, x, y, all, {});
    case Format::kNvfp4: {
      const auto codes = static_cast<size_t>(s.out * s.in / 2);
      return t.linear_nvfp4({w.first(codes), w.subspan(codes), s.out, s.in}, x, y, all, {});
    }
    case Format::kFp8: {
      const auto codes = static_cast<size_t>(s.out * s.in);
      const kernels::Fp8Matrix m{
          .codes = w.first(codes), .scales = w.subspan(codes), .out = s.out, .in = s.in};
      return t.linear_fp8(m, x, y, all, {});
    }
    case Format::kInt4:
    case Format::kInt8:
      return t.linear_int(packed(format, s, w), x, y, all, {});
    case Format::kAffine4:
    case Format::kAffine8:
      return t.linear_affine(packed(format, s, w), x, y, all, {});
  }
}

// One gigabyte of noise for all benchmarks.
const std::vector<std::byte>& memory() {
  static const std::vector<std::byte> bytes = noise_bytes(int64_t{1} << 30);
  return bytes;
}

void bm_linear(benchmark::State& state, Format format, Size s) {
  const int64_t rows = state.range(0);
  const int64_t x_stride = padded_columns(s.in), y_stride = padded_columns(s.out);
  const std::vector<float> noise = noise_floats(rows * x_stride);
  const AlignedFloats x(noise.begin(), noise.end());
  AlignedFloats y(static_cast<size_t>(rows * y_stride));
  std::vector<const float*> x_rows;
  std::vector<float*> y_rows;
  for (int64_t r = 0; r < rows; ++r) {
    x_rows.push_back(x.data() + r * x_stride);
    y_rows.push_back(y.data() + r * y_stride);
  }
  const int64_t bytes = matrix_bytes(format, s);
  const int64_t copies = s.cached ? 1 : static_cast<int64_t>(memory().size()) / bytes;
  roofline();
  int64_t copy = 0;
  for (auto _ : state) {
    const auto at = static_cast<size_t>(copy * bytes);
    call(format, s, std::span(memory()).subspan(at, static_cast<size_t>(bytes)), x_rows, y_rows);
    benchmark::ClobberMemory();
    copy = (copy + 1) % copies;
  }
  report(state, static_cast<double>(bytes), 2.0 * static_cast<double>(rows * s.out * s.in));
}

void register_all() {
  const std::pair<const char*, Format> formats[] = {
      {"f32", Format::kF32},     {"bf16", Format::kBf16},       {"f16", Format::kF16},
      {"nvfp4", Format::kNvfp4}, {"fp8", Format::kFp8},         {"int4", Format::kInt4},
      {"int8", Format::kInt8},   {"affine4", Format::kAffine4}, {"affine8", Format::kAffine8}};
  const std::pair<const char*, Size> sizes[] = {
      {"256x256_cached", {256, 256, true}},   {"512x1024_cached", {512, 1024, true}},
      {"256x2048_cached", {256, 2048, true}}, {"2048x512", {2048, 512, false}},
      {"512x2048", {512, 2048, false}},       {"2048x2048", {2048, 2048, false}},
      {"2048x8192", {2048, 8192, false}},     {"8192x2048", {8192, 2048, false}},
      {"100352x2048", {100352, 2048, false}}};
  for (const auto& [format_name, format] : formats) {
    for (const auto& [size_name, size] : sizes) {
      auto* b = benchmark::RegisterBenchmark(
          (std::string("linear/") + format_name + "/" + size_name).c_str(),
          [format = format, size = size](benchmark::State& state) {
            bm_linear(state, format, size);
          });
      for (const int64_t rows : {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}) b->Arg(rows);
      if (size.out <= 8192) b->Arg(512);
      b->Unit(benchmark::kMicrosecond)->MinTime(0.2);
    }
  }
}

}  // namespace
}  // namespace spindrift::bench

int main(int argc, char** argv) {
  spindrift::bench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
