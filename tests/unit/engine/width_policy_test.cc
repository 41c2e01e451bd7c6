#include "engine/width_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr DraftLimits kChains{.nodes = 11, .depth = 11};
constexpr WidthQuery kRoomy{.position = 100, .max_nodes = 11, .tokens_left = 1000};

// What rounds cost, in units of a plain round, and what a drafter's chains bring.
struct World {
  double draft = 0.2;     // of a drafting pass
  double per_row = 0.05;  // of each drafted row
  int accepted = 0;       // tokens right in every chain
};

// Seconds that `tokens` tokens take; a plain round takes one.
double simulate(WidthPolicy& policy, int tokens, const World& world, int* drafted = nullptr) {
  double seconds = 0;
  for (int made = 0; made < tokens;) {
    const int width = policy.choose(kRoomy).nodes;
    const int kept = std::min(width, world.accepted);
    const double round = width > 0 ? 1 + world.draft + world.per_row * width : 1.0;
    policy.record({.drafted = width, .accepted = kept, .draft_s = 0, .verify_s = round});
    seconds += round;
    made += kept + 1;
    if (drafted != nullptr && width > 0) ++*drafted;
  }
  return seconds;
}

TEST(WidthPolicy, OffNeverDrafts) {
  const auto policy = make_width_policy({.mode = DraftWidth::Mode::kOff}, kChains);
  EXPECT_EQ(policy->choose(kRoomy).nodes, 0);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("off"));
}

TEST(WidthPolicy, AFixedWidthIsClampedToTheDrafterAndToTheContextOnly) {
  const auto policy = make_width_policy({.mode = DraftWidth::Mode::kFixed, .tokens = 20}, kChains);
  EXPECT_EQ(policy->choose(kRoomy).nodes, 11);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 2, .tokens_left = 50}).nodes, 2);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 1}).nodes, 11);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("clamped"));
}

TEST(WidthPolicy, AFixedPathLengthIsAChainUnlessMoreNodesAreAskedFor) {
  constexpr DraftLimits kTrees{.nodes = 17, .depth = 4};
  const auto choice = [&](const DraftWidth& width) {
    return make_width_policy(width, kTrees)->choose({.max_nodes = 17, .tokens_left = 99});
  };
  const WidthChoice chain = choice({.mode = DraftWidth::Mode::kFixed, .tokens = 9});
  EXPECT_EQ(chain.nodes, 4);
  EXPECT_EQ(chain.depth, 4);
  const WidthChoice tree = choice({.mode = DraftWidth::Mode::kFixed, .tokens = 2, .nodes = 99});
  EXPECT_EQ(tree.nodes, 17);
  EXPECT_EQ(tree.depth, 2);
}

TEST(WidthPolicy, AutoDraftsNoMoreThanTheLimitCanUse) {
  const auto policy = make_width_policy({}, kChains);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 4}).nodes, 3);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 1}).nodes, 0);
}

TEST(WidthPolicy, AutoGoesWideWhileDraftingPays) {
  const auto policy = make_width_policy({}, kChains);
  const World world{.draft = 0.2, .per_row = 0.05, .accepted = 11};
  EXPECT_LT(simulate(*policy, 1200, world), 1.08 * 100 * (1.2 + 0.55));
  EXPECT_THAT(policy->decision(), testing::HasSubstr("on at width 11"));
}

TEST(WidthPolicy, AutoFindsTheWidthThatAcceptanceIsWorth) {
  const auto policy = make_width_policy({}, kChains);
  const World world{.draft = 0.2, .per_row = 0.2, .accepted = 3};
  EXPECT_LT(simulate(*policy, 1200, world), 1.1 * 300 * (1.2 + 0.6));
  EXPECT_GE(policy->choose(kRoomy).nodes, 3);
  EXPECT_LE(policy->choose(kRoomy).nodes, 4);
}

TEST(WidthPolicy, AutoTurnsOffADrafterThatNeverHitsAndProbesEverMoreRarely) {
  const auto policy = make_width_policy({}, kChains);
  int drafted = 0;
  EXPECT_LT(simulate(*policy, 4000, {.draft = 0.3, .per_row = 0.1, .accepted = 0}, &drafted),
            4000 * 1.01);
  EXPECT_LT(drafted, 40);
  EXPECT_GT(drafted, 4);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("off"));
}

TEST(WidthPolicy, AutoTurnsOffAGoodDrafterThatCostsTooMuch) {
  const auto policy = make_width_policy({}, kChains);
  EXPECT_LT(simulate(*policy, 4000, {.draft = 12, .per_row = 0.1, .accepted = 11}), 4000 * 1.05);
}

TEST(WidthPolicy, AutoResumesWhenTheDrafterStartsToHit) {
  const auto policy = make_width_policy({}, kChains);
  simulate(*policy, 300, {.draft = 0.3, .per_row = 0.1, .accepted = 0});
  EXPECT_LT(simulate(*policy, 4000, {.draft = 0.3, .per_row = 0.1, .accepted = 11}), 4000 * 0.4);
}

}  // namespace
}  // namespace spindrift
