#include "nn/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "core/e2m1.h"
#include "core/f8e4m3.h"
#include "core/thread_pool.h"
#include "io/weight_store.h"
#include "kernels/registry.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace spindrift::nn {
namespace {

using testing::TempDir;
using testing::TinyCheckpoint;
using testing::TinyFormat;
using testing::TinyTensor;

const Exec kScalar{.kernels = &kernels::table(kernels::Isa::kScalar)};

std::unique_ptr<WeightStore> store_of(const TinyCheckpoint& checkpoint, const TempDir& folder) {
  checkpoint.write(folder.path());
  auto store = open_weights(folder.path());
  if (!store.ok()) ADD_FAILURE() << store.error().message;
  return std::move(store).value();
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(Nvfp4Linear, EveryCodeAndEveryBlockScaleSurvivesExactly) {
  // Row o has block scale o; its 16 columns are the 16 codes.
  constexpr float kGlobal = 12.0F;
  std::vector<uint8_t> scales(256), codes;
  std::iota(scales.begin(), scales.end(), uint8_t{0});
  for (int o = 0; o < 256; ++o)
    for (int pair = 0; pair < 8; ++pair)
      codes.push_back(static_cast<uint8_t>((2 * pair) | ((2 * pair + 1) << 4)));
  TinyCheckpoint checkpoint;
  checkpoint.tensors["w.weight_packed"] = {"U8", {256, 8}, bytes_of(codes)};
  checkpoint.tensors["w.weight_scale"] = {"F8_E4M3", {256, 1}, bytes_of(scales)};
  checkpoint.tensors["w.weight_global_scale"] = {"F32", {}, bytes_of(std::vector<float>{kGlobal})};
  const TempDir folder;
  const auto store = store_of(checkpoint, folder);
  const auto linear = load_linear({store.get(), "w"}, 256, 16).value();
  EXPECT_EQ(linear->format(), "nvfp4");

  const TensorView packed = store->get_any("w.weight_packed").value();
  EXPECT_EQ(std::memcmp(packed.bytes.data(), codes.data(), codes.size()), 0);
  for (int64_t k = 0; k < 16; ++k) {
    std::vector<float> x(16, 0.0F), y(256), row(16);
    x[static_cast<size_t>(k)] = 1.0F;
    apply(*linear, ConstRows(x.data(), 1, 16), Rows(y.data(), 1, 256), kScalar);
    for (size_t o = 0; o < 256; ++o) {
      const float scale = f8e4m3_to_float(static_cast<uint8_t>(o));
      const float product = kE2m1Values[static_cast<size_t>(k)] * scale;
      linear->read_row(static_cast<int64_t>(o), row);
      if (std::isnan(scale)) {
        EXPECT_TRUE(std::isnan(row[static_cast<size_t>(k)]));
        EXPECT_TRUE(std::isnan(y[o]));
      } else {
        EXPECT_EQ(row[static_cast<size_t>(k)], product / kGlobal);
        EXPECT_EQ(y[o], product * (1.0F / kGlobal));  // a factor of the finished dot
      }
    }
  }
}

TEST(Linear, ReadsEveryFormatAsItsOwnRowsSay) {
  constexpr int64_t kIn = 64;
  for (const TinyFormat format : testing::kTinyFormats) {
    TinyCheckpoint checkpoint;
    testing::add_tiny_linear(checkpoint, "w", 7, kIn, format, 3);
    const TempDir folder;
    const auto store = store_of(checkpoint, folder);
    const auto linear = load_linear({store.get(), "w"}, 7, kIn).value();
    std::vector<float> x(kIn), y(7), row(kIn);
    for (size_t k = 0; k < row.size(); ++k) x[k] = std::sin(static_cast<float>(k));
    apply(*linear, ConstRows(x.data(), 1, kIn), Rows(y.data(), 1, 7), kScalar);
    for (int64_t o = 0; o < 7; ++o) {
      linear->read_row(o, row);
      double sum = 0.0;
      for (size_t k = 0; k < row.size(); ++k)
        sum += static_cast<double>(row[k]) * static_cast<double>(x[k]);
      EXPECT_NEAR(y[static_cast<size_t>(o)], sum, 1e-5) << linear->format();
    }
    EXPECT_TRUE(store->unread().empty());
  }
}

TEST(Linear, ASliceComputesThoseColumnsOfTheWholeBitForBit) {
  constexpr int64_t kOut = 40, kIn = 64, kRows = 3;
  for (const TinyFormat format : testing::kTinyFormats) {
    TinyCheckpoint checkpoint;
    testing::add_tiny_linear(checkpoint, "w", kOut, kIn, format, 3);
    std::vector<float> bias(kOut);
    std::iota(bias.begin(), bias.end(), 1.0F);
    checkpoint.tensors["w.bias"] = {"F32", {kOut}, bytes_of(bias)};
    const TempDir folder;
    const auto store = store_of(checkpoint, folder);
    auto whole = load_linear({store.get(), "w"}, kOut, kIn, Bias::kRequired).value();
    std::vector<float> x(kRows * kIn), expected(kRows * kOut);
    for (size_t k = 0; k < x.size(); ++k) x[k] = std::sin(static_cast<float>(k));
    const ConstRows in(x.data(), kRows, kIn);
    apply(*whole, in, Rows(expected.data(), kRows, kOut), kScalar);
    int64_t bytes = 0;
    for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 17}, {17, 22}, {39, 1}}) {
      const auto slice = whole->slice(first, count);
      EXPECT_EQ(slice->format(), whole->format());
      bytes += slice->bytes();
      std::vector<float> y(static_cast<size_t>(kRows * count));
      apply(*slice, in, Rows(y.data(), kRows, count), kScalar);
      for (int64_t r = 0; r < kRows; ++r) {
        EXPECT_EQ(std::memcmp(y.data() + r * count, expected.data() + r * kOut + first,
                              static_cast<size_t>(count) * sizeof(float)),
                  0)
            << whole->format() << " row " << r << " column " << first;
      }
    }
    EXPECT_GE(bytes, whole->bytes());
  }
}

TEST(Linear, SplitsWorkOverThreadsWithoutChangingABit) {
  TinyCheckpoint checkpoint;
  testing::add_tiny_linear(checkpoint, "a", 301, 64, TinyFormat::kBf16, 1);
  testing::add_tiny_linear(checkpoint, "b", 33, 64, TinyFormat::kNvfp4, 2);
  const TempDir folder;
  const auto store = store_of(checkpoint, folder);
  const auto a = load_linear({store.get(), "a"}, 301, 64).value();
  const auto b = load_linear({store.get(), "b"}, 33, 64).value();
  std::vector<float> x(5 * 64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  std::vector<std::vector<float>> results;
  for (int threads = 1; threads <= 5; ++threads) {
    ThreadPool pool(threads);
    const Exec ex{.pool = &pool, .kernels = kScalar.kernels};
    std::vector<float> y(5 * 334, -1.0F);
    std::vector<const float*> in;
    std::vector<float*> to_a, to_b;
    for (size_t r = 0; r < 5; ++r) {
      in.push_back(x.data() + r * 64);
      to_a.push_back(y.data() + r * 334);
      to_b.push_back(y.data() + r * 334 + 301);
    }
    const std::vector<LinearCall> calls = {{a.get(), in, to_a}, {b.get(), in, to_b}};
    nn::apply(calls, ex);
    results.push_back(y);
    EXPECT_EQ(std::memcmp(y.data(), results.front().data(), y.size() * sizeof(float)), 0);
  }
}

TEST(Linear, AddsItsBiasOnlyWhereAsked) {
  TinyCheckpoint checkpoint;
  testing::add_tiny_linear(checkpoint, "w", 2, 16, TinyFormat::kF32, 1);
  checkpoint.tensors["w.bias"] = {"F32", {2}, bytes_of(std::vector<float>{10.0F, -20.0F})};
  const TempDir folder;
  const auto store = store_of(checkpoint, folder);
  const auto plain = load_linear({store.get(), "w"}, 2, 16).value();
  EXPECT_EQ(store->unread(), std::vector<std::string>{"w.bias"});
  const auto biased = load_linear({store.get(), "w"}, 2, 16, Bias::kIfPresent).value();
  const std::vector<float> x(16, 0.0F);
  std::vector<float> y(2);
  apply(*biased, ConstRows(x.data(), 1, 16), Rows(y.data(), 1, 2), kScalar);
  EXPECT_EQ(y, (std::vector<float>{10.0F, -20.0F}));
  apply(*plain, ConstRows(x.data(), 1, 16), Rows(y.data(), 1, 2), kScalar);
  EXPECT_EQ(y, (std::vector<float>{0.0F, 0.0F}));
}

// Three layers [5, 32] in a stack of one format, and each of them alone, "0" to "2".
struct StackedLayers {
  explicit StackedLayers(TinyFormat format = TinyFormat::kBf16) {
    for (int64_t e = 0; e < 3; ++e) {
      TinyCheckpoint one;
      testing::add_tiny_linear(one, std::to_string(e), 5, 32, format, 3);
      for (const auto& [name, tensor] : one.tensors) {
        TinyTensor& stack = checkpoint.tensors["stack" + name.substr(1)];
        stack.dtype = tensor.dtype;
        stack.shape = tensor.shape;
        stack.shape.insert(stack.shape.begin(), 3);
        stack.data += tensor.data;
        checkpoint.tensors[name] = tensor;
      }
    }
  }
  TinyCheckpoint checkpoint;
};

void expect_stack_equals_its_layers(const TinyCheckpoint& checkpoint) {
  const TempDir folder;
  const auto store = store_of(checkpoint, folder);
  const auto stack = load_stacked({store.get(), "stack"}, 3, 5, 32).value();
  ASSERT_EQ(stack.size(), 3U);
  for (int64_t e = 0; e < 3; ++e) {
    const auto alone = load_linear({store.get(), std::to_string(e)}, 5, 32).value();
    const Linear& stacked = *stack[static_cast<size_t>(e)];
    SCOPED_TRACE(std::string(stacked.format()).append(" layer ").append(std::to_string(e)));
    EXPECT_EQ(stacked.format(), alone->format());
    EXPECT_EQ(stacked.out(), 5);
    EXPECT_EQ(stacked.bytes(), alone->bytes());
    std::vector<float> expected(32), found(32);
    for (int64_t o = 0; o < 5; ++o) {
      alone->read_row(o, expected);
      stacked.read_row(o, found);
      EXPECT_EQ(found, expected) << "row " << o;
    }
  }
  EXPECT_TRUE(store->unread().empty());
}

TEST(StackedLinear, EachLayerOfAStackEqualsItselfStoredAlone) {
  for (const TinyFormat format :
       {TinyFormat::kF32, TinyFormat::kBf16, TinyFormat::kF16, TinyFormat::kAffine4,
        TinyFormat::kAffine8, TinyFormat::kMlxNvfp4})
    expect_stack_equals_its_layers(StackedLayers(format).checkpoint);
}

TEST(StackedLinear, AFloatTensorOfTheScopesOwnNameIsAStack) {
  TinyCheckpoint checkpoint = StackedLayers().checkpoint;
  auto weight = checkpoint.tensors.extract("stack.weight");
  weight.key() = "stack";
  checkpoint.tensors.insert(std::move(weight));
  expect_stack_equals_its_layers(checkpoint);
}

TEST(StackedLinear, RefusesAStackOfAnotherSizeByName) {
  const TempDir folder;
  const auto store = store_of(StackedLayers().checkpoint, folder);
  const auto stack = load_stacked({store.get(), "stack"}, 4, 5, 32);
  ASSERT_FALSE(stack.ok());
  EXPECT_NE(stack.error().message.find("stack.weight"), std::string::npos);
  EXPECT_NE(stack.error().message.find("[4, 5, 32]"), std::string::npos);
  EXPECT_FALSE(load_stacked({store.get(), "0"}, 3, 5, 32).ok());
}

TEST(StackedLinear, RefusesFormatsThatStackNothing) {
  TinyCheckpoint checkpoint;
  testing::add_tiny_linear(checkpoint, "w", 4, 32, TinyFormat::kNvfp4, 3);
  const TempDir folder;
  const auto store = store_of(checkpoint, folder);
  const auto stack = load_stacked({store.get(), "w"}, 2, 2, 32);
  ASSERT_FALSE(stack.ok());
  EXPECT_EQ(stack.error().code, ErrorCode::kUnsupported);
}

struct BadLinear {
  const char* what;
  std::function<void(std::map<std::string, TinyTensor>&)> change;
  const char* message;  // a part of the error
};

TEST(Nvfp4Linear, RefusesTensorsThatDoNotFitByName) {
  const std::vector<BadLinear> cases = {
      {"no tensors", [](auto& t) { t.clear(); }, "layer `w`: expected"},
      {"no scale", [](auto& t) { t.erase("w.weight_scale"); }, "w.weight_scale"},
      {"no global scale", [](auto& t) { t.erase("w.weight_global_scale"); },
       "w.weight_global_scale"},
      {"scale shape",
       [](auto& t) {
         t["w.weight_scale"].shape = {2, 4};
       },
       "w.weight_scale"},
      {"scale dtype", [](auto& t) { t["w.weight_scale"].dtype = "U8"; }, "w.weight_scale"},
      {"packed shape",
       [](auto& t) {
         t["w.weight_packed"].shape = {8, 8};
       },
       "w.weight_packed"},
      {"global shape",
       [](auto& t) {
         t["w.weight_global_scale"] = {"F32", {2}, std::string(8, 1)};
       },
       "w.weight_global_scale"},
      {"global dtype", [](auto& t) { t["w.weight_global_scale"].dtype = "I32"; },
       "w.weight_global_scale"},
      {"global zero",
       [](auto& t) { t["w.weight_global_scale"].data = bytes_of(std::vector<float>{0.0F}); },
       "finite number above 0"},
      {"global negative",
       [](auto& t) { t["w.weight_global_scale"].data = bytes_of(std::vector<float>{-1.0F}); },
       "finite number above 0"},
      {"global infinite",
       [](auto& t) { t["w.weight_global_scale"].data = bytes_of(std::vector<float>{INFINITY}); },
       "finite number above 0"},
      {"global so small that its reciprocal overflows",
       [](auto& t) { t["w.weight_global_scale"].data = bytes_of(std::vector<float>{1e-45F}); },
       "finite number above 0"},
      {"two formats",
       [](auto& t) {
         t["w.weight"] = {"BF16", {4, 32}, std::string(256, 0)};
       },
       "found those of bf16 and of nvfp4"},
      {"unknown dtype",
       [](auto& t) {
         t.clear();
         t["w.weight"] = {"I64", {4, 32}, std::string(1024, 0)};
       },
       "weight I64"},
  };
  for (const BadLinear& bad : cases) {
    TinyCheckpoint checkpoint;
    testing::add_tiny_linear(checkpoint, "w", 4, 32, TinyFormat::kNvfp4, 3);
    bad.change(checkpoint.tensors);
    const TempDir folder;
    const auto store = store_of(checkpoint, folder);
    const auto linear = load_linear({store.get(), "w"}, 4, 32);
    ASSERT_FALSE(linear.ok()) << bad.what;
    EXPECT_NE(linear.error().message.find(bad.message), std::string::npos)
        << bad.what << ": " << linear.error().message;
    EXPECT_EQ(linear.error().message.find('\n'), std::string::npos);
  }
}

TEST(Nvfp4Linear, RefusesColumnsThatAreNoWholeGroups) {
  TinyCheckpoint checkpoint;
  testing::add_tiny_linear(checkpoint, "w", 4, 32, TinyFormat::kNvfp4, 3);
  const TempDir folder;
  const auto store = store_of(checkpoint, folder);
  const auto linear = load_linear({store.get(), "w"}, 4, 24);
  ASSERT_FALSE(linear.ok());
  EXPECT_NE(linear.error().message.find("multiple of 16"), std::string::npos);
}

}  // namespace
}  // namespace spindrift::nn
