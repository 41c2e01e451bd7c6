#include "nn/moe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/thread_pool.h"
#include "io/weight_store.h"
#include "kernels/registry.h"
#include "nn/row_pointers.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace spindrift::nn {
namespace {

using testing::TempDir;
using testing::TinyCheckpoint;
using testing::TinyFormat;

const Exec kScalar{.kernels = &kernels::table(kernels::Isa::kScalar)};

std::vector<Choice> select(const RouterRule& rule, std::vector<float> scores,
                           std::vector<float> bias) {
  std::vector<Choice> chosen(static_cast<size_t>(rule.top_k));
  select_experts(rule, scores, bias, chosen);
  return chosen;
}

TEST(Router, SelectsByScorePlusBiasAndWeighsByScoreAlone) {
  const auto chosen = select({.top_k = 2}, {0.9F, 0.2F, 0.6F, 0.5F}, {-1.0F, 0.5F, 0.0F, 0.0F});
  EXPECT_EQ(chosen[0].expert, 1);  // 0.7 against 0.6, 0.5 and -0.1
  EXPECT_EQ(chosen[1].expert, 2);
  EXPECT_FLOAT_EQ(chosen[0].weight, 0.2F / 0.8F);
  EXPECT_FLOAT_EQ(chosen[1].weight, 0.6F / 0.8F);
}

TEST(Router, KeepsScoresAsTheyAreWithoutRenormalising) {
  const auto chosen = select({.top_k = 2, .renormalize = false}, {0.25F, 0.5F, 0.125F}, {});
  EXPECT_EQ(chosen[0].weight, 0.5F);
  EXPECT_EQ(chosen[1].weight, 0.25F);
}

TEST(Router, TiesGoToTheLowerId) {
  const auto chosen = select({.top_k = 3}, {0.5F, 0.7F, 0.5F, 0.7F, 0.5F}, {});
  EXPECT_EQ(chosen[0].expert, 1);
  EXPECT_EQ(chosen[1].expert, 3);
  EXPECT_EQ(chosen[2].expert, 0);
}

TEST(Router, NotANumberRanksLastAndEachExpertIsChosenOnce) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto some = select({.top_k = 2}, {nan, 0.1F, nan, -3.0F}, {});
  EXPECT_EQ(some[0].expert, 1);
  EXPECT_EQ(some[1].expert, 3);
  const auto all = select({.top_k = 3}, {nan, nan, nan}, {});
  EXPECT_EQ(all[0].expert, 0);
  EXPECT_EQ(all[1].expert, 1);
  EXPECT_EQ(all[2].expert, 2);
}

// A mixture layer of hidden 32 with 6 experts of 16 and a shared one of 48.
class MoeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    TinyCheckpoint checkpoint;
    testing::add_tiny_linear(checkpoint, "router", 6, 32, TinyFormat::kBf16, 1);
    for (int e = 0; e < 7; ++e) {
      const std::string name = "e." + std::to_string(e);
      const int64_t inner = e == 6 ? 48 : 16;
      const TinyFormat format = e % 2 == 0 ? TinyFormat::kNvfp4 : TinyFormat::kBf16;
      testing::add_tiny_linear(checkpoint, name + ".gate_proj", inner, 32, format, 2);
      testing::add_tiny_linear(checkpoint, name + ".up_proj", inner, 32, format, 2);
      testing::add_tiny_linear(checkpoint, name + ".down_proj", 32, inner, format, 2);
    }
    checkpoint.write(folder_.path());
    store_ = open_weights(folder_.path()).value();
    const WeightScope root{store_.get(), ""};
    layer_.rule = {.top_k = 3, .routed_scale = 2.5F};
    layer_.router = load_linear(root / "router", 6, 32).value();
    layer_.bias = {0.1F, -0.2F, 0.3F, 0.0F, 0.05F, -0.1F};
    for (int e = 0; e < 6; ++e)
      layer_.experts.push_back(load_swiglu(root / "e" / e, 32, 16).value());
    layer_.shared = load_swiglu(root / "e" / 6, 32, 48).value();
    x_.resize(kRows * 32);
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = std::sin(0.37F * static_cast<float>(i));
  }

  std::vector<float> run(int64_t first, int64_t rows, const Exec& ex) const {
    MoeScratch scratch;
    std::vector<float> y(static_cast<size_t>(rows * 32));
    moe(layer_, ConstRows(x_.data() + first * 32, rows, 32), Rows(y.data(), rows, 32), scratch, ex);
    return y;
  }

  static constexpr int64_t kRows = 300;  // more than run together
  TempDir folder_;
  std::unique_ptr<WeightStore> store_;
  Moe layer_;
  std::vector<float> x_;
};

TEST_F(MoeTest, IsTheScaledWeightedSumOfTheChosenPlusTheShared) {
  const std::vector<float> y = run(5, 1, kScalar);
  const ConstRows x(x_.data() + 5 * 32, 1, 32);
  std::vector<float> logits(6), scores(6), gate(48), up(48), out(32);
  nn::apply(*layer_.router, x, Rows(logits.data(), 1, 6), kScalar);
  for (size_t e = 0; e < 6; ++e) scores[e] = 1.0F / (1.0F + std::exp(-logits[e]));
  std::vector<Choice> chosen(3);
  select_experts(layer_.rule, scores, layer_.bias, chosen);
  std::vector<double> expected(32, 0.0);
  const auto add = [&](const SwiGlu& expert, double factor) {
    swiglu(expert, x, Rows(gate.data(), 1, expert.inner()), Rows(up.data(), 1, expert.inner()),
           Rows(out.data(), 1, 32), kScalar);
    for (size_t i = 0; i < 32; ++i) expected[i] += factor * static_cast<double>(out[i]);
  };
  for (const Choice& c : chosen)
    add(layer_.experts[static_cast<size_t>(c.expert)], 2.5 * static_cast<double>(c.weight));
  add(*layer_.shared, 1.0);
  for (size_t i = 0; i < 32; ++i) EXPECT_NEAR(y[i], expected[i], 1e-5);
}

TEST_F(MoeTest, ARowsBitsDoNotDependOnTheOthersOrOnThreads) {
  const std::vector<float> all = run(0, kRows, kScalar);
  for (const int64_t row : {0, 1, 17, 255, 256, 299}) {
    const std::vector<float> alone = run(row, 1, kScalar);
    EXPECT_EQ(std::memcmp(alone.data(), all.data() + row * 32, 32 * sizeof(float)), 0) << row;
  }
  for (const int threads : {2, 3}) {
    ThreadPool pool(threads);
    const std::vector<float> other = run(0, kRows, {.pool = &pool, .kernels = kScalar.kernels});
    EXPECT_EQ(std::memcmp(other.data(), all.data(), all.size() * sizeof(float)), 0);
  }
}

TEST(SoftplusGate, ScalesByLogTwoAtZeroAndByAboutTenAtTen) {
  std::vector<float> x = {1.0F, 2.0F, 1.0F, 2.0F};
  const std::vector<float> gate = {0.0F, 10.0F};  // one a head of two features
  softplus_gate(ConstRows(gate.data(), 1, 2), Rows(x.data(), 1, 4), kScalar);
  EXPECT_NEAR(x[0], std::log(2.0), 1e-6);
  EXPECT_NEAR(x[1], 2.0 * std::log(2.0), 1e-6);
  EXPECT_NEAR(x[2], 10.0000454, 1e-5);
  EXPECT_NEAR(x[3], 20.0000908, 1e-5);
}

TEST(SoftplusGate, GatesEachElementWhenThereIsOneForEach) {
  std::vector<float> x = {1.0F, 1.0F};
  const std::vector<float> gate = {0.0F, 10.0F};
  softplus_gate(ConstRows(gate.data(), 1, 2), Rows(x.data(), 1, 2), kScalar);
  EXPECT_NEAR(x[0], std::log(2.0), 1e-6);
  EXPECT_NEAR(x[1], 10.0000454, 1e-5);
}

}  // namespace
}  // namespace spindrift::nn
