#include "engine/prefill_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace spindrift {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> shares(const std::vector<int64_t>& wanted, int64_t budget) {
  std::vector<PromptRows> prompts;
  for (const int64_t rows : wanted) prompts.push_back({.wanted = rows, .rows = 77});
  share_prefill(prompts, budget);
  std::vector<int64_t> out;
  for (const PromptRows& prompt : prompts) out.push_back(prompt.rows);
  return out;
}

TEST(PrefillShare, AShortPromptIsServedWholeBesideALongOne) {
  EXPECT_THAT(shares({1000, 20}, 128), ElementsAre(108, 20));
}

TEST(PrefillShare, AShortPromptBehindManyLongOnesGetsAllButTheFirstOnesQuarter) {
  EXPECT_THAT(shares({1000, 900, 800, 80}, 128), ElementsAre(32, 0, 16, 80));
}

TEST(PrefillShare, TheFirstPromptNeverStandsStill) {
  EXPECT_THAT(shares({1000, 64, 64, 64}, 128), ElementsAre(32, 64, 32, 0));
  EXPECT_THAT(shares({1000, 1}, 1), ElementsAre(1, 0));
}

TEST(PrefillShare, EqualPromptsAreServedByArrivalAndNoneMoreThanItWants) {
  EXPECT_THAT(shares({5, 5, 5}, 7), ElementsAre(5, 2, 0));
  EXPECT_THAT(shares({3, 1, 5}, 100), ElementsAre(3, 1, 5));
  EXPECT_THAT(shares({0, 4, 0}, 3), ElementsAre(0, 3, 0));
  EXPECT_THAT(shares({}, 7), ElementsAre());
}

TEST(LargestShare, TakesFromTheWidestOnly) {
  EXPECT_EQ(largest_share(std::vector<int64_t>{4, 4, 4}, 12), 4);
  EXPECT_EQ(largest_share(std::vector<int64_t>{2, 11, 11}, 16), 7);
  EXPECT_EQ(largest_share(std::vector<int64_t>{1, 1, 1}, 2), 0);
  EXPECT_EQ(largest_share({}, 2), 0);
}

}  // namespace
}  // namespace spindrift
