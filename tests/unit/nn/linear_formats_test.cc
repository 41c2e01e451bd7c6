#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "core/bf16.h"
#include "core/f8e4m3.h"
#include "io/weight_store.h"
#include "nn/linear.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace spindrift::nn {
namespace {

using testing::TempDir;
using testing::TinyCheckpoint;
using testing::TinyFormat;
using testing::TinyTensor;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string bf16_bytes(const std::vector<float>& values) {
  std::vector<uint16_t> codes;
  for (const float v : values) codes.push_back(bf16_from_float(v));
  return bytes_of(codes);
}

// A layer "w" in a file.
class StoredLayer {
 public:
  explicit StoredLayer(const TinyCheckpoint& checkpoint) {
    checkpoint.write(folder_.path());
    auto store = open_weights(folder_.path());
    if (!store.ok()) ADD_FAILURE() << store.error().message;
    store_ = std::move(store).value();
  }
  WeightScope scope() const { return {store_.get(), "w"}; }
  const WeightStore& store() const { return *store_; }
  std::unique_ptr<Linear> load(int64_t out, int64_t in) const {
    auto linear = load_linear(scope(), out, in);
    if (!linear.ok()) ADD_FAILURE() << linear.error().message;
    return std::move(linear).value();
  }

 private:
  TempDir folder_;
  std::unique_ptr<WeightStore> store_;
};

std::vector<float> row_of(const Linear& linear, int64_t o) {
  std::vector<float> row(static_cast<size_t>(linear.in()));
  linear.read_row(o, row);
  return row;
}

TEST(Fp8Linear, EveryCodeTimesItsScaleIsRoundedOnce) {
  constexpr float kScale = 0.003F;  // not a bfloat16
  std::vector<uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), uint8_t{0});
  TinyCheckpoint checkpoint;
  checkpoint.tensors["w.weight"] = {"F8_E4M3", {1, 256}, bytes_of(codes)};
  checkpoint.tensors["w.weight_scale"] = {
      "F32", {1, 2}, bytes_of(std::vector<float>{kScale, -2.0F * kScale})};
  const StoredLayer layer(checkpoint);
  const std::vector<float> row = row_of(*layer.load(1, 256), 0);
  for (size_t code = 0; code < 256; ++code) {
    const double value = static_cast<double>(f8e4m3_to_float(codes[code]));
    const double exact = value * static_cast<double>(code < 128 ? kScale : -2.0F * kScale);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(row[code])) << code;
    } else {
      EXPECT_EQ(row[code], static_cast<float>(exact)) << code;
    }
  }
}

// A layer of ones whose scales tell which of them a weight uses.
TinyCheckpoint fp8_ones(int64_t out, int64_t in, const std::vector<int64_t>& shape) {
  TinyCheckpoint checkpoint;
  const auto size = static_cast<size_t>(out * in);
  checkpoint.tensors["w.weight"] = {"F8_E4M3", {out, in}, std::string(size, char{0x38})};
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<float> scales(static_cast<size_t>(count));
  std::iota(scales.begin(), scales.end(), 1.0F);
  checkpoint.tensors["w.weight_scale"] = {"BF16", shape, bf16_bytes(scales)};
  return checkpoint;
}

TEST(Fp8Linear, TheLastBlocksMayBeRagged) {
  const StoredLayer layer(fp8_ones(300, 150, {3, 2}));
  const auto linear = layer.load(300, 150);
  for (const int64_t o : {0, 127, 128, 255, 256, 299}) {
    const std::vector<float> row = row_of(*linear, o);
    const auto first = static_cast<float>(o / 128 * 2 + 1);
    EXPECT_EQ(row[127], first);
    EXPECT_EQ(row[128], first + 1.0F);
    EXPECT_EQ(row[149], first + 1.0F);
  }
}

TEST(Fp8Linear, ASliceMayBeginInsideABlock) {
  const StoredLayer layer(fp8_ones(300, 150, {3, 2}));
  const auto whole = layer.load(300, 150);
  const auto part = whole->slice(100, 170), inner = part->slice(60, 110);
  EXPECT_EQ(row_of(*part, 0), row_of(*whole, 100));
  EXPECT_EQ(row_of(*part, 169), row_of(*whole, 269));
  EXPECT_EQ(row_of(*inner, 0), row_of(*whole, 160));
  EXPECT_EQ(row_of(*inner, 109), row_of(*whole, 269));
  EXPECT_EQ(inner->bytes(), 110 * 150 + 2 * 2 * 2);  // its rows lie in two rows of blocks
}

TEST(Fp8Linear, OneScaleARowOrForAllIsToldByItsShape) {
  const StoredLayer rows(fp8_ones(5, 300, {5, 1}));
  EXPECT_EQ(row_of(*rows.load(5, 300), 3), std::vector<float>(300, 4.0F));
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, std::vector<int64_t>{1}}) {
    const StoredLayer all(fp8_ones(200, 300, shape));
    EXPECT_EQ(row_of(*all.load(200, 300), 199), std::vector<float>(300, 1.0F));
  }
}

TEST(IntLinear, EveryCodeIsReadAsAnOffset) {
  for (const int bits : {4, 8}) {
    const int count = 1 << bits;
    std::vector<uint8_t> codes;
    for (int code = 0; code < count; ++code) {
      if (bits == 8) codes.push_back(static_cast<uint8_t>(code));
      if (bits == 4 && code % 2 == 1) codes.push_back(static_cast<uint8_t>(code << 4 | (code - 1)));
    }
    TinyCheckpoint checkpoint;
    checkpoint.tensors["w.weight_packed"] = {"I32", {1, count * bits / 32}, bytes_of(codes)};
    checkpoint.tensors["w.weight_scale"] = {"BF16", {1, 1}, bf16_bytes({0.375F})};
    checkpoint.tensors["w.weight_shape"] = {"I64", {2}, bytes_of(std::vector<int64_t>{1, count})};
    const StoredLayer layer(checkpoint);
    const auto linear = layer.load(1, count);
    EXPECT_EQ(linear->format(), bits == 4 ? "int4" : "int8");
    const std::vector<float> row = row_of(*linear, 0);
    for (int code = 0; code < count; ++code)
      EXPECT_EQ(row[static_cast<size_t>(code)], static_cast<float>(code - count / 2) * 0.375F);
    EXPECT_TRUE(layer.store().unread().empty());
  }
}

TEST(IntLinear, RowsAreWholeWordsWhenTheColumnsAreNot) {
  // 37 columns of 4 bits take 5 words; what is left over is no weight.
  TinyCheckpoint checkpoint;
  checkpoint.tensors["w.weight_packed"] = {
      "I32", {2, 5}, std::string(20, '\x99') + std::string(20, '\x77')};
  checkpoint.tensors["w.weight_scale"] = {
      "F16", {2, 1}, bytes_of(std::vector<uint16_t>{0x3c00, 0x4000})};
  checkpoint.tensors["w.weight_shape"] = {"I64", {2}, bytes_of(std::vector<int64_t>{2, 37})};
  const StoredLayer layer(checkpoint);
  const auto linear = layer.load(2, 37);
  EXPECT_EQ(row_of(*linear, 0), std::vector<float>(37, 1.0F));
  EXPECT_EQ(row_of(*linear, 1), std::vector<float>(37, -2.0F));
}

TEST(AffineLinear, ScaleAndBiasAreOneFusedStep) {
  // 255 * (1 + 2^-23) rounds on its own; fused with the bias it does not.
  constexpr float kScale = 1.0F + 0x1p-23F;
  TinyCheckpoint checkpoint;
  checkpoint.tensors["w.weight"] = {"U32", {1, 8}, std::string(32, '\xff')};
  checkpoint.tensors["w.scales"] = {"F32", {1, 1}, bytes_of(std::vector<float>{kScale})};
  checkpoint.tensors["w.biases"] = {"F32", {1, 1}, bytes_of(std::vector<float>{-255.0F})};
  const StoredLayer layer(checkpoint);
  const auto linear = layer.load(1, 32);
  EXPECT_EQ(linear->format(), "affine8");
  EXPECT_EQ(row_of(*linear, 0), std::vector<float>(32, 255.0F * 0x1p-23F));
}

TEST(AffineLinear, BitsAndGroupsComeFromTheShapes) {
  for (const int64_t group : {32, 64, 128}) {
    for (const int bits : {4, 8}) {
      TinyCheckpoint checkpoint;
      checkpoint.tensors["w.weight"] = {
          "U32", {1, 256 * bits / 32}, std::string(static_cast<size_t>(32 * bits), '\x11')};
      std::vector<float> scales(static_cast<size_t>(256 / group));
      std::iota(scales.begin(), scales.end(), 1.0F);
      checkpoint.tensors["w.scales"] = {"BF16", {1, 256 / group}, bf16_bytes(scales)};
      checkpoint.tensors["w.biases"] = {
          "BF16", {1, 256 / group}, bf16_bytes(std::vector<float>(scales.size(), -4.0F))};
      const StoredLayer layer(checkpoint);
      EXPECT_EQ(stored_format(layer.scope()), "affine");
      EXPECT_EQ(stored_format(layer.scope(), 256), bits == 4 ? "affine4" : "affine8");
      const std::vector<float> row = row_of(*layer.load(1, 256), 0);
      const float code = bits == 4 ? 1.0F : 17.0F;
      for (int64_t k = 0; k < 256; ++k) {
        const float scale = scales[static_cast<size_t>(k / group)];
        EXPECT_EQ(row[static_cast<size_t>(k)], code * scale - 4.0F);
      }
    }
  }
}

struct Bad {
  TinyFormat format;
  const char* what;
  std::function<void(std::map<std::string, TinyTensor>&)> change;
  std::vector<const char*> message;  // parts of the error
};

TinyTensor tensor(const char* dtype, std::vector<int64_t> shape, size_t bytes) {
  return {dtype, std::move(shape), std::string(bytes, 1)};
}

// Layers are [4, 64].
const std::vector<Bad>& bad_layers() {
  using F = TinyFormat;
  static const std::vector<Bad> kBad = {
      {F::kFp8,
       "no scale",
       [](auto& t) { t.erase("w.weight_scale"); },
       {"w.weight_scale", "nothing"}},
      {F::kFp8,
       "a scale of another shape",
       [](auto& t) {
         t["w.weight_scale"] = tensor("BF16", {2, 2}, 8);
       },
       {"w.weight_scale", "[1, 1] (blocks of 128 x 128), [4, 1] (rows) or [1]",
        "found BF16 [2, 2]"}},
      {F::kFp8,
       "a scale of another type",
       [](auto& t) {
         t["w.weight_scale"] = tensor("F8_E4M3", {1, 1}, 1);
       },
       {"w.weight_scale", "found F8_E4M3"}},
      {F::kFp8,
       "a scale of the tensor that is not finite",
       [](auto& t) {
         t["w.weight_scale"] = {"F32", {1}, bytes_of(std::vector<float>{INFINITY})};
       },
       {"w.weight_scale", "finite number", "inf"}},
      {F::kFp8,
       "weights of another shape",
       [](auto& t) {
         t["w.weight"] = tensor("F8_E4M3", {64, 4}, 256);
       },
       {"w.weight", "[4, 64]", "[64, 4]"}},
      {F::kFp8,
       "zero points",
       [](auto& t) { t["w.weight_zero_point"] = tensor("I8", {1}, 1); },
       {"w.weight_zero_point", "nothing beside weight F8_E4M3"}},
      {F::kInt4,
       "no shape",
       [](auto& t) { t.erase("w.weight_shape"); },
       {"w.weight_shape", "nothing"}},
      {F::kInt4,
       "another shape",
       [](auto& t) {
         t["w.weight_shape"].data = bytes_of(std::vector<int64_t>{4, 63});
       },
       {"w.weight_shape", "the values 4, 64", "found 4, 63"}},
      {F::kInt4,
       "words of no width",
       [](auto& t) {
         t["w.weight_packed"] = tensor("I32", {4, 12}, 192);
       },
       {"w.weight_packed", "[4, 8] (4 bits) or [4, 16] (8 bits)", "found I32 [4, 12]"}},
      {F::kInt4,
       "words of other rows",
       [](auto& t) {
         t["w.weight_packed"] = tensor("I32", {5, 8}, 160);
       },
       {"w.weight_packed", "[4, 8]", "[5, 8]"}},
      {F::kInt8,
       "groups that are not whole",
       [](auto& t) {
         t["w.weight_scale"] = tensor("BF16", {4, 3}, 24);
       },
       {"w.weight_scale", "groups of 64 columns", "found BF16 [4, 3]"}},
      {F::kInt8,
       "groups of eight",
       [](auto& t) {
         t["w.weight_scale"] = tensor("BF16", {4, 8}, 64);
       },
       {"w.weight_scale", "multiple of 16"}},
      {F::kInt8,
       "no scale",
       [](auto& t) { t.erase("w.weight_scale"); },
       {"w.weight_scale", "nothing"}},
      {F::kInt8,
       "scales of other rows",
       [](auto& t) {
         t["w.weight_scale"] = tensor("BF16", {2, 2}, 8);
       },
       {"w.weight_scale", "[4, 2]"}},
      {F::kInt8,
       "integer scales",
       [](auto& t) {
         t["w.weight_scale"] = tensor("I32", {4, 2}, 32);
       },
       {"w.weight_scale", "found I32"}},
      {F::kInt8,
       "a reordering",
       [](auto& t) { t["w.weight_g_idx"] = tensor("I32", {64}, 256); },
       {"w.weight_g_idx", "nothing beside weight_packed I32"}},
      {F::kAffine4,
       "words of three bits",
       [](auto& t) {
         t["w.weight"] = tensor("U32", {4, 6}, 96);
       },
       {"w.weight", "[4, 8] (4 bits) or [4, 16] (8 bits)", "found U32 [4, 6]"}},
      {F::kAffine4, "no scales", [](auto& t) { t.erase("w.scales"); }, {"w.scales", "nothing"}},
      {F::kAffine4,
       "no biases",
       [](auto& t) { t.erase("w.biases"); },
       {"layer `w`", "scales BF16"}},
      {F::kAffine4,
       "groups of sixteen",
       [](auto& t) {
         t["w.scales"] = tensor("BF16", {4, 4}, 32);
       },
       {"w.scales", "groups of 32, 64 or 128", "found BF16 [4, 4]"}},
      {F::kAffine8,
       "biases of another shape",
       [](auto& t) {
         t["w.biases"] = tensor("BF16", {4, 1}, 8);
       },
       {"w.biases", "[4, 2]", "[4, 1]"}},
      {F::kAffine8,
       "biases of another type",
       [](auto& t) {
         t["w.biases"] = tensor("F16", {4, 2}, 16);
       },
       {"w.biases", "BF16", "F16"}},
      {F::kMlxNvfp4,
       "scales of groups of 32",
       [](auto& t) {
         t["w.scales"] = tensor("U8", {4, 2}, 8);
       },
       {"w.scales", "U8 [4, 4]", "[4, 2]"}},
      {F::kMlxNvfp4,
       "words of 8 bits",
       [](auto& t) {
         t["w.weight"] = tensor("U32", {4, 16}, 256);
       },
       {"w.weight", "U32 [4, 8]"}},
      {F::kMlxNvfp4,
       "no scales",
       [](auto& t) { t.erase("w.scales"); },
       {"layer `w`", "weight U32"}},
      {F::kBf16,
       "a scale",
       [](auto& t) { t["w.weight_scale"] = tensor("BF16", {1}, 2); },
       {"w.weight_scale", "nothing beside weight BF16"}},
      {F::kFp8,
       "packed codes as well",
       [](auto& t) {
         t["w.weight_packed"] = tensor("I32", {4, 8}, 128);
       },
       {"layer `w`", "of fp8 and of int"}},
  };
  return kBad;
}

TEST(LinearFormats, TensorsThatDoNotFitAreRefusedByName) {
  for (const Bad& bad : bad_layers()) {
    TinyCheckpoint checkpoint;
    testing::add_tiny_linear(checkpoint, "w", 4, 64, bad.format, 3);
    bad.change(checkpoint.tensors);
    const StoredLayer layer(checkpoint);
    const auto linear = load_linear(layer.scope(), 4, 64);
    ASSERT_FALSE(linear.ok()) << bad.what;
    const std::string& message = linear.error().message;
    for (const char* part : bad.message)
      EXPECT_NE(message.find(part), std::string::npos) << bad.what << ": " << message;
    EXPECT_NE(message.find(layer.store().where()), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(LinearFormats, EachIsToldFromTheOthers) {
  const std::map<TinyFormat, const char*> names = {
      {TinyFormat::kF32, "f32"},         {TinyFormat::kBf16, "bf16"},
      {TinyFormat::kF16, "f16"},         {TinyFormat::kNvfp4, "nvfp4"},
      {TinyFormat::kFp8, "fp8"},         {TinyFormat::kInt4, "int4"},
      {TinyFormat::kInt8, "int8"},       {TinyFormat::kAffine4, "affine4"},
      {TinyFormat::kAffine8, "affine8"}, {TinyFormat::kMlxNvfp4, "mlx-nvfp4"}};
  for (const TinyFormat format : testing::kTinyFormats) {
    TinyCheckpoint checkpoint;
    testing::add_tiny_linear(checkpoint, "w", 4, 64, format, 3);
    const StoredLayer layer(checkpoint);
    EXPECT_EQ(stored_format(layer.scope(), 64), names.at(format));
    EXPECT_EQ(layer.load(4, 64)->format(), names.at(format));
  }
}

}  // namespace
}  // namespace spindrift::nn
