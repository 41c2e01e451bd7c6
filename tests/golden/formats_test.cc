#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "io/weight_store.h"
#include "kernels/registry.h"
#include "nn/linear.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

// Layers that compressed-tensors and MLX wrote, each with the weights [out, in] it stands for
// (tools/make_format_vectors.py).
constexpr std::string_view kExpected = "expected";

class StoredLayers : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = open_weights(testing::repo_dir() / "tests" / "golden" / "formats");
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = std::move(store).value();
  }

  // fn(layer, its weights) for every layer.
  template <class Fn>
  void for_each(const Fn& fn) {
    int count = 0;
    for (const std::string_view name : store_->names()) {
      if (!name.ends_with(kExpected)) continue;
      const std::string layer(name.substr(0, name.size() - kExpected.size() - 1));
      SCOPED_TRACE(layer);
      const TensorView expected = store_->get_any(name).value();
      std::vector<float> weights(expected.bytes.size() / sizeof(float));
      std::memcpy(weights.data(), expected.bytes.data(), expected.bytes.size());
      const auto linear =
          nn::load_linear({store_.get(), layer}, expected.shape[0], expected.shape[1]);
      ASSERT_TRUE(linear.ok()) << linear.error().message;
      fn(*linear.value(), weights);
      ++count;
    }
    EXPECT_EQ(count, 22);
    EXPECT_TRUE(store_->unread().empty());
  }

  std::unique_ptr<WeightStore> store_;
};

TEST_F(StoredLayers, RowsAreTheWeightsTheyStandForBitForBit) {
  for_each([](const nn::Linear& linear, const std::vector<float>& weights) {
    const auto in = static_cast<size_t>(linear.in());
    std::vector<float> row(in);
    for (int64_t o = 0; o < linear.out(); ++o) {
      linear.read_row(o, row);
      EXPECT_EQ(
          std::memcmp(row.data(), weights.data() + static_cast<size_t>(o) * in, in * sizeof(float)),
          0)
          << "row " << o;
    }
  });
}

TEST_F(StoredLayers, KernelsMultiplyByThoseWeights) {
  for_each([](const nn::Linear& linear, const std::vector<float>& weights) {
    if (linear.format() == "nvfp4") return;  // its global scale is a factor of finished dots
    const int64_t in = linear.in(), out = linear.out();
    std::vector<float> identity(static_cast<size_t>(in * in), 0.0F);
    for (int64_t k = 0; k < in; ++k) identity[static_cast<size_t>(k * in + k)] = 1.0F;
    for (const kernels::Isa isa : kernels::usable_isas()) {
      const Exec ex{.kernels = &kernels::table(isa)};
      std::vector<float> columns(static_cast<size_t>(in * out));
      nn::apply(linear, ConstRows(identity.data(), in, in), Rows(columns.data(), in, out), ex);
      for (int64_t k = 0; k < in; ++k) {
        for (int64_t o = 0; o < out; ++o) {
          EXPECT_EQ(columns[static_cast<size_t>(k * out + o)],
                    weights[static_cast<size_t>(o * in + k)]);
        }
      }
    }
  });
}

}  // namespace
}  // namespace spindrift
