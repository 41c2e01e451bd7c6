#include "bench/forward_bench.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "app/assemble.h"
#include "app/inspect.h"
#include "core/meter.h"
#include "support/shared_dir.h"

namespace spindrift::bench {
namespace {

class DemoTarget : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string folder =
        (spindrift::testing::repo_dir() / "models/laguna-tiny-nvfp4").string();
    AssembleOptions options;
    options.model = folder;
    options.threads = 1;
    auto loaded = assemble(options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    assembly_ = std::move(loaded).value().release();
    auto inspected = inspect_model(folder, false);
    ASSERT_TRUE(inspected.ok()) << inspected.error().message;
    inspection_ = new Inspection(std::move(inspected).value());
  }
  static void TearDownTestSuite() {
    delete assembly_;
    delete inspection_;
  }

  // What a forward of these tokens after `context` others reads and computes.
  static Meter metered(int64_t context, std::span<const TokenId> tokens) {
    Workspace ws;
    const Subject subject{.target = &assembly_->target(), .exec = assembly_->exec()};
    const auto seq = read_context(subject, context, ws);
    Meter meter;
    Exec ex = assembly_->exec();
    ex.meter = &meter;
    const SeqRows rows{.seq = seq.get(), .tokens = tokens};
    subject.target->forward(std::span(&rows, 1), {}, ws, ex);
    return meter;
  }
  static int64_t group_bytes(std::string_view name) {
    int64_t bytes = 0;
    for (const ModuleGroup& group : inspection_->groups)
      if (group.module == name) bytes += group.bytes_per_token;
    return bytes;
  }

  static inline const Assembly* assembly_ = nullptr;
  static inline const Inspection* inspection_ = nullptr;
};

TEST_F(DemoTarget, OneRowReadsTheBytesThatInspectSays) {
  const std::vector<TokenId> tokens = random_tokens(1, 3072, 5);
  const int64_t left_out =
      group_bytes("embedding") + group_bytes("norms") + 5 * 16 * 4;  // and the routers' biases
  const int64_t globals = 5 * 5 * 3 * 2 * 4;  // two scalars a layer of a chosen or shared expert
  const int64_t expected = inspection_->bytes_per_token - left_out;
  EXPECT_LE(metered(0, tokens).weight_bytes, expected);
  EXPECT_GE(metered(0, tokens).weight_bytes, expected - globals);
}

TEST_F(DemoTarget, RowsOfOneTokenReadEachChosenExpertOnce) {
  const Meter one = metered(0, std::vector<TokenId>{7});
  const std::vector<TokenId> tokens = random_tokens(8, 3072, 5);
  const Meter eight = metered(0, tokens);
  EXPECT_GT(eight.weight_bytes, one.weight_bytes);
  EXPECT_LE(eight.weight_bytes, one.weight_bytes + 3 * group_bytes("routed experts"));
  EXPECT_EQ(eight.linear_multiply_adds, 8 * one.linear_multiply_adds);
}

TEST_F(DemoTarget, ContextIsReadAsFarAsItIsSeen) {
  const std::vector<TokenId> tokens = random_tokens(4, 3072, 5);
  const int64_t row = 2 * 2 * 64 * 4;  // keys and values, 2 heads of 64 floats
  EXPECT_EQ(metered(0, tokens).context_bytes, 0);
  EXPECT_EQ(metered(100, tokens).context_bytes, 6 * 100 * row);
  // Four of six layers see 128 keys, the first row itself and 127 committed ones.
  EXPECT_EQ(metered(300, tokens).context_bytes, (2 * 300 + 4 * 127) * row);
}

TEST_F(DemoTarget, WidthHasAPointForEveryContextAndNumberOfRows) {
  const Subject subject{.target = &assembly_->target(), .exec = assembly_->exec()};
  const Roofline roofline{.read_gb_s = 10, .fma_gflop_s = 100};
  const std::vector<Point> points =
      bench_width(subject, {.contexts = {0, 8}, .rows = {1, 3}, .repeat = 2}, roofline);
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(std::get<int64_t>(points[3][0].value), 3);
  EXPECT_EQ(std::get<int64_t>(points[3][1].value), 8);
}

TEST(RandomTokens, AreDistinctWhileTheVocabularyLasts) {
  const std::vector<TokenId> tokens = random_tokens(50, 50, 3);
  EXPECT_EQ(std::set<TokenId>(tokens.begin(), tokens.end()).size(), 50U);
  EXPECT_EQ(random_tokens(120, 50, 3).size(), 120U);
}

}  // namespace
}  // namespace spindrift::bench
