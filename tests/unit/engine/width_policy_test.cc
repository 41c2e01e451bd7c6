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
    policy.record({.rows = 1 + width,
                   .drafted = width,
                   .depth = width,
                   .accepted = kept,
                   .accepted_first = kept,
                   .draft_s = width > 0 ? world.draft : 0,
                   .verify_s = 1 + world.per_row * width});
    seconds += round;
    made += kept + 1;
    if (drafted != nullptr && width > 0) ++*drafted;
  }
  return seconds;
}

class WidthPolicyTest : public testing::Test {
 protected:
  std::unique_ptr<WidthPolicy> fresh(const DraftWidth& width, const DraftLimits& limits = kChains) {
    return make_width_policy(width, limits, experience_);
  }
  DraftExperience experience_;
};

TEST_F(WidthPolicyTest, OffNeverDrafts) {
  const auto policy = fresh({.mode = DraftWidth::Mode::kOff});
  EXPECT_EQ(policy->choose(kRoomy).nodes, 0);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("off"));
}

TEST_F(WidthPolicyTest, AFixedWidthIsClampedToTheDrafterAndToTheContextOnly) {
  const auto policy = fresh({.mode = DraftWidth::Mode::kFixed, .tokens = 20});
  EXPECT_EQ(policy->choose(kRoomy).nodes, 11);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 2, .tokens_left = 50}).nodes, 2);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 1}).nodes, 11);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("clamped"));
}

TEST_F(WidthPolicyTest, AFixedPathLengthIsAChainUnlessMoreNodesAreAskedFor) {
  constexpr DraftLimits kTrees{.nodes = 17, .depth = 4};
  const auto choice = [&](const DraftWidth& width) {
    return fresh(width, kTrees)->choose({.max_nodes = 17, .tokens_left = 99});
  };
  const WidthChoice chain = choice({.mode = DraftWidth::Mode::kFixed, .tokens = 9});
  EXPECT_EQ(chain.nodes, 4);
  EXPECT_EQ(chain.depth, 4);
  const WidthChoice tree = choice({.mode = DraftWidth::Mode::kFixed, .tokens = 2, .nodes = 99});
  EXPECT_EQ(tree.nodes, 17);
  EXPECT_EQ(tree.depth, 2);
}

TEST_F(WidthPolicyTest, AutoDraftsNoMoreThanTheLimitCanUse) {
  const auto policy = fresh({});
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 4}).nodes, 3);
  EXPECT_EQ(policy->choose({.position = 9, .max_nodes = 11, .tokens_left = 1}).nodes, 0);
}

TEST_F(WidthPolicyTest, AutoGoesWideWhileDraftingPays) {
  const auto policy = fresh({});
  const World world{.draft = 0.2, .per_row = 0.05, .accepted = 11};
  EXPECT_LT(simulate(*policy, 1200, world), 1.08 * 100 * (1.2 + 0.55));
  EXPECT_THAT(policy->decision(), testing::HasSubstr("on at width 11"));
}

TEST_F(WidthPolicyTest, AutoFindsTheWidthThatAcceptanceIsWorth) {
  const auto policy = fresh({});
  const World world{.draft = 0.2, .per_row = 0.2, .accepted = 3};
  EXPECT_LT(simulate(*policy, 1200, world), 1.1 * 300 * (1.2 + 0.6));
  EXPECT_GE(policy->choose(kRoomy).nodes, 3);
  EXPECT_LE(policy->choose(kRoomy).nodes, 4);
}

TEST_F(WidthPolicyTest, AutoGivesUpADrafterThatNeverHits) {
  const auto policy = fresh({});
  int drafted = 0;
  EXPECT_LT(simulate(*policy, 4000, {.draft = 0.3, .per_row = 0.1, .accepted = 0}, &drafted),
            4000 * 1.005);
  EXPECT_EQ(drafted, 5);
  EXPECT_THAT(policy->decision(), testing::HasSubstr("given up"));
}

TEST_F(WidthPolicyTest, AHostileDrafterCostsTwoInAHundredOfAShortRunAtMost) {
  const World hostile{.draft = 0.3, .per_row = 0.05, .accepted = 0};
  simulate(*fresh({}), 60, hostile);  // costs are known from an earlier run
  experience_.chain = {};             // and nothing of acceptance
  EXPECT_LT(simulate(*fresh({}), 200, hostile), 200 * 1.02);
}

TEST_F(WidthPolicyTest, KnownCostsNeedNoLearning) {
  simulate(*fresh({}), 300, {.draft = 0.2, .per_row = 0.05, .accepted = 11});
  EXPECT_EQ(fresh({})->choose(kRoomy).nodes, 11);
}

TEST_F(WidthPolicyTest, AutoPrefersTheTreeWhereItsHitsAreWorthItsRows) {
  constexpr DraftLimits kTrees{.nodes = 16, .depth = 4};
  const auto chosen = [&](double per_row) {
    experience_ = {};
    for (const int rows : {1, 5, 17}) experience_.costs.verify.add(rows, 1 + per_row * rows);
    for (int i = 0; i < 6; ++i) experience_.costs.chain.add(4, 0.1);
    experience_.costs.verify.add(1, 1 + per_row);
    for (int i = 0; i < 20; ++i) {
      experience_.chain.add(4, 1);
      experience_.tree.add(4, 4);
    }
    return fresh({}, kTrees)->choose({.max_nodes = 16, .tokens_left = 99}).nodes;
  };
  EXPECT_EQ(chosen(0.01), 16);
  EXPECT_LE(chosen(0.5), 4);
}

TEST_F(WidthPolicyTest, AutoTurnsOffAGoodDrafterThatCostsTooMuch) {
  const auto policy = fresh({});
  EXPECT_LT(simulate(*policy, 4000, {.draft = 12, .per_row = 0.1, .accepted = 11}), 4000 * 1.05);
}

TEST_F(WidthPolicyTest, AutoResumesWhenTheDrafterStartsToHit) {
  const auto policy = fresh({});
  simulate(*policy, 300, {.draft = 1.5, .per_row = 0.1, .accepted = 1});
  EXPECT_LT(simulate(*policy, 4000, {.draft = 1.5, .per_row = 0.1, .accepted = 11}), 4000 * 0.5);
}

TEST(CostCurve, DrawsLinesBetweenMeasurementsAndGoesOnBeyondThem) {
  CostCurve curve;
  for (int i = 0; i < 3; ++i) curve.add(2, 2.0);
  EXPECT_LT(curve.at(1), 2.0);
  curve.add(6, 4.0);
  EXPECT_DOUBLE_EQ(curve.at(4), 3.0);
  EXPECT_DOUBLE_EQ(curve.at(8), 5.0);
}

TEST(CostCurve, TheFirstMeasurementMayBeSlowAndALaterStallMovesItLittle) {
  CostCurve curve;
  curve.add(1, 100.0);
  for (int i = 0; i < 5; ++i) curve.add(1, 1.0);
  EXPECT_DOUBLE_EQ(curve.at(1), 1.0);
  curve.add(1, 50.0);
  EXPECT_LT(curve.at(1), 1.1);
}

TEST(CostCurve, WhatMakesNoSenseIsNotRestored) {
  const CostCurve::Sample samples[] = {{0, 1.0, 1},  {1, 1.0, 5}, {1, 2.0, 5},
                                       {3, -1.0, 5}, {4, 2.0, 0}, {5, 1.5, 2}};
  CostCurve curve;
  curve.restore(samples);
  ASSERT_EQ(curve.samples().size(), 2U);
  EXPECT_EQ(curve.samples()[1].size, 5);
}

TEST(Acceptance, NewEvidenceOutweighsWhatFaded) {
  Acceptance acceptance;
  for (int i = 0; i < 50; ++i) acceptance.add(2, 0);
  EXPECT_LT(acceptance.hit(1, 0.7), 0.1);
  acceptance.fade();
  for (int i = 0; i < 4; ++i) acceptance.add(2, 2);
  EXPECT_GT(acceptance.hit(1, 0.7), 0.5);
}

}  // namespace
}  // namespace spindrift
