#include "engine/width_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr WidthQuery kRoomy{.position = 100, .max_nodes = 11, .tokens_left = 1000};

// Rounds of a drafter whose drafted round costs `round_s` and brings `accepted`, against plain
// rounds of one second. Returns the seconds that producing `tokens` takes.
double simulate(WidthPolicy& policy, int tokens, int accepted, double round_s,
                int* drafted = nullptr) {
  double seconds = 0;
  for (int made = 0; made < tokens;) {
    const int width = policy.choose(kRoomy).nodes;
    const int kept = std::min(width, accepted);
    policy.record(
        {.drafted = width, .accepted = kept, .draft_s = 0, .verify_s = width > 0 ? round_s : 1.0});
    seconds += width > 0 ? round_s : 1.0;
    made += kept + 1;
    if (drafted != nullptr && width > 0) ++*drafted;
  }
  return seconds;
}

TEST(WidthPolicy, OffNeverDrafts) {
  const auto policy = make_width_policy({.mode = DraftWidth::Mode::kOff}, 11);
  EXPECT_EQ(policy->choose(kRoomy).nodes, 0);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("off"));
}

TEST(WidthPolicy, AFixedWidthIsClampedToTheDrafterAndToTheContextOnly) {
  const auto policy = make_width_policy({.mode = DraftWidth::Mode::kFixed, .tokens = 20}, 11);
  EXPECT_EQ(policy->choose(kRoomy).nodes, 11);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 2, .tokens_left = 50}).nodes, 2);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 1}).nodes, 11);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("clamped"));
}

TEST(WidthPolicy, AutoDraftsNoMoreThanTheLimitCanUse) {
  const auto policy = make_width_policy({}, 11);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 4}).nodes, 3);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 1}).nodes, 0);
}

TEST(WidthPolicy, AutoStaysOnWhileDraftingPays) {
  const auto policy = make_width_policy({}, 11);
  EXPECT_LT(simulate(*policy, 1000, 11, 3.0), 1000.0 / 3.0);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("on at width 11"));
}

TEST(WidthPolicy, AutoGoesNarrowWhenLittleIsAccepted) {
  const auto policy = make_width_policy({}, 11);
  simulate(*policy, 200, 1, 1.1);
  EXPECT_LE(policy->choose(kRoomy).nodes, 4);
}

TEST(WidthPolicy, AutoPausesADrafterThatNeverHitsAndProbesEverMoreRarely) {
  const auto policy = make_width_policy({}, 11);
  int drafted = 0;
  EXPECT_LT(simulate(*policy, 4000, 0, 2.0, &drafted), 4000 * 1.02);
  EXPECT_LT(drafted, 40);
  EXPECT_GT(drafted, 4);
}

TEST(WidthPolicy, AutoResumesWhenTheDrafterStartsToHit) {
  const auto policy = make_width_policy({}, 11);
  simulate(*policy, 300, 0, 2.0);
  EXPECT_LT(simulate(*policy, 4000, 11, 2.0), 4000 * 0.5);
}

}  // namespace
}  // namespace spindrift
