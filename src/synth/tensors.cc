#include "synth/tensors.h"

#include <cmath>
#include <utility>

#include "core/check.h"

namespace spindrift::synth {
namespace {

constexpr int64_t kNvfp4Group = 16, kIntGroup = 128, kAffineGroup = 64, kFp8Block = 128;
// Root mean square of an E2M1 code and of evenly drawn n-bit integers.
constexpr double kE2m1Size = 2.926, kInt4Size = 4.61, kInt8Size = 73.9;

Content codes() { return {}; }
Content normal(double center, double spread) {
  return {Content::Kind::kNormal, center, spread, 0, 0, {}};
}
Content uniform(double center, double spread) {
  return {Content::Kind::kUniform, center, spread, 0, 0, {}};
}
Content constant(double value) { return uniform(value, 0.0); }

std::vector<int64_t> with(std::vector<int64_t> rows, int64_t columns) {
  rows.push_back(columns);
  return rows;
}

}  // namespace

void TensorList::add(std::string name, DType dtype, std::vector<int64_t> shape, Content content) {
  tensors_.push_back({std::move(name), dtype, std::move(shape), std::move(content), group_});
}

void TensorList::norm(const std::string& name, int64_t size) {
  add(name + ".weight", DType::kBf16, {size}, normal(1.0, 0.1));
}

void TensorList::matrix(const std::string& name, int64_t rows, int64_t columns, double spread) {
  add(name + ".weight", DType::kBf16, {rows, columns}, normal(0.0, spread));
}

// w = scale * code + bias, the biases such that codes lie evenly around zero.
void TensorList::affine(const std::string& name, std::vector<int64_t> rows, int64_t in,
                        int64_t bits, double spread) {
  const double size = bits == 4 ? kInt4Size : kInt8Size;
  const double middle = bits == 4 ? 7.5 : 127.5;
  const std::vector<int64_t> groups = with(rows, in / kAffineGroup);
  Content biases = uniform(-middle * spread / size, 0.3 * middle * spread / size);
  Content scales = uniform(spread / size, -0.3 * spread / size);
  biases.follows = name + ".scales";
  add(name + ".weight", DType::kU32, with(std::move(rows), in * bits / 32), codes());
  add(name + ".scales", DType::kBf16, groups, scales);
  add(name + ".biases", DType::kBf16, groups, biases);
}

void TensorList::linear(const std::string& name, int64_t out, int64_t in, Format format,
                        const LinearOptions& options) {
  const double spread = options.gain / std::sqrt(static_cast<double>(in));
  std::vector<int64_t> rows = {out};
  if (options.stack > 0) rows.insert(rows.begin(), options.stack);
  switch (format) {
    case Format::kBf16:
      add(name + ".weight", DType::kBf16, with(rows, in), normal(0.0, spread));
      return;
    case Format::kNvfp4: {
      const std::vector<int64_t> one = options.scalar_scales ? std::vector<int64_t>() : with({}, 1);
      add(name + ".weight_packed", DType::kU8, with(rows, in / 2), codes());
      add(name + ".weight_scale", DType::kF8E4M3, with(rows, in / kNvfp4Group),
          uniform(288.0, 160.0));
      add(name + ".weight_global_scale", DType::kF32, one, constant(kE2m1Size * 303.0 / spread));
      add(name + ".input_global_scale", DType::kF32, one, constant(400.0));
      return;
    }
    case Format::kFp8:
      add(name + ".weight", DType::kF8E4M3, with(rows, in), normal(0.0, 100.0));
      add(name + ".weight_scale", DType::kBf16,
          {(out + kFp8Block - 1) / kFp8Block, (in + kFp8Block - 1) / kFp8Block},
          uniform(spread / 100.0, 0.3 * spread / 100.0));
      return;
    case Format::kInt4:
    case Format::kInt8: {
      const bool narrow = format == Format::kInt4;
      const double size = narrow ? kInt4Size : kInt8Size;
      add(name + ".weight_packed", DType::kI32, with(rows, in / (narrow ? 8 : 4)), codes());
      add(name + ".weight_scale", DType::kBf16, with(rows, in / kIntGroup),
          uniform(spread / size, 0.3 * spread / size));
      add(name + ".weight_shape", DType::kI64, {2}, {Content::Kind::kShape, 0.0, 0.0, out, in, {}});
      return;
    }
    case Format::kAffine4:
    case Format::kAffine8:
      return affine(name, rows, in, format == Format::kAffine4 ? 4 : 8, spread);
    case Format::kMlxNvfp4:
      // Without a scale of the whole tensor the group scales are as small as the weights.
      add(name + ".weight", DType::kU32, with(rows, in / 8), codes());
      add(name + ".scales", DType::kU8, with(rows, in / kNvfp4Group),
          uniform(spread / kE2m1Size, 0.5 * spread / kE2m1Size));
      return;
  }
  SPINDRIFT_CHECK(false, "a format");
}

}  // namespace spindrift::synth
