#include "engine/draft_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <optional>

namespace spindrift {
namespace {

constexpr DraftLimits kChains{.nodes = 11, .depth = 11};
constexpr DraftLimits kTrees{.nodes = 16, .depth = 4};
constexpr int64_t kMostNodes = 256;

// What rounds cost, in units of a plain round of one request, and what a drafter's chains bring.
struct World {
  double draft = 0.2;      // of a drafting pass
  double per_row = 0.05;   // of each row above the first
  double per_draft = 0;    // of each draft token of a pass
  int accepted = 0;        // tokens right in every chain
  double per_waiting = 0;  // of each row that a draft takes in

  double forward(int rows) const { return 1 + per_row * (rows - 1); }
  double pass(int nodes, int64_t waiting) const {
    return draft + per_draft * nodes + per_waiting * static_cast<double>(waiting);
  }
};

// Some requests that decode together, step by step.
class Batch {
 public:
  explicit Batch(DraftPlanner& planner, const DraftLimits& limits = kChains)
      : planner_(planner), limits_(limits) {}

  DraftHistory& add(const DraftWidth& width = {}, int64_t prompt = 0) {
    rows_.push_back(prompt);
    drafted_at_.push_back(0);
    return histories_.emplace_back(width, limits_);
  }
  // Ends them all.
  void clear() {
    histories_.clear();
    rows_.clear();
    drafted_at_.clear();
  }
  std::vector<int> widths(int64_t tokens_left = 1000) {
    plan(tokens_left);
    std::vector<int> out;
    for (const DraftSeat& seat : seats_) out.push_back(seat.choice.nodes);
    return out;
  }
  // Seconds until the batch has made `tokens` tokens. worlds[i]: of the i-th request's acceptance.
  double run(int tokens, const World& world, std::vector<int> accepted = {}) {
    accepted.resize(histories_.size(), world.accepted);
    double seconds = 0;
    for (int made = 0; made < tokens;) {
      plan(1000);
      RoundCost round;
      for (size_t i = 0; i < seats_.size(); ++i) {
        const int nodes = seats_[i].choice.nodes;
        if (nodes == 0) continue;
        ++round.calls;
        round.nodes += nodes;
        round.waiting += seats_[i].waiting;
        drafted_at_[i] = rows_[i];
      }
      round.rows = static_cast<int>(seats_.size()) + round.nodes;
      round.draft_s = round.calls > 0 ? world.pass(round.nodes, round.waiting) : 0;
      round.verify_s = world.forward(round.rows);
      planner_.record(round);
      for (size_t i = 0; i < seats_.size(); ++i) {
        const int nodes = seats_[i].choice.nodes;
        const int kept = std::min(nodes, accepted[i]);
        made += kept + 1;
        rows_[i] += kept + 1;
        if (nodes == 0) continue;
        ++drafts;
        planner_.record(histories_[i], {nodes, nodes, kept, kept});
      }
      seconds += round.draft_s + round.verify_s;
      passes += round.calls > 0 ? 1 : 0;
    }
    return seconds;
  }

  int drafts = 0, passes = 0;

 private:
  void plan(int64_t tokens_left) {
    seats_.clear();
    for (size_t i = 0; i < histories_.size(); ++i)
      seats_.push_back({.history = &histories_[i],
                        .room = limits_.nodes,
                        .tokens_left = tokens_left,
                        .waiting = rows_[i] - drafted_at_[i],
                        .choice = {}});
    planner_.choose(seats_);
  }

  DraftPlanner& planner_;
  DraftLimits limits_;
  std::deque<DraftHistory> histories_;
  std::vector<int64_t> rows_, drafted_at_;
  std::vector<DraftSeat> seats_;
};

// A planner that knows what this world costs, from an earlier process.
DraftPlanner experienced(const World& world) {
  RoundCosts costs;
  for (int i = 0; i < 4; ++i) {
    for (const int rows : {1, 2, 4, 8, 16, 32, 64}) costs.verify.add(rows, world.forward(rows));
    for (const int calls : {1, 2, 4, 8})
      for (const int nodes : {2, 4, 8, 11}) {
        costs.chain.of(calls).add(calls * nodes, world.pass(calls * nodes, 0));
      }
  }
  return {kChains, costs, kMostNodes};
}

TEST(DraftPlanner, OffNeverDrafts) {
  DraftPlanner planner(kChains, {}, kMostNodes);
  Batch batch(planner);
  const DraftHistory& history = batch.add({.mode = DraftWidth::Mode::kOff});
  EXPECT_THAT(batch.widths(), testing::ElementsAre(0));
  EXPECT_THAT(history.decision(), testing::HasSubstr("off"));
}

TEST(DraftHistory, AFixedWidthIsClampedToTheDrafterAndToTheContextOnly) {
  const DraftHistory history({.mode = DraftWidth::Mode::kFixed, .tokens = 20}, kChains);
  EXPECT_EQ(history.fixed(11).nodes, 11);
  EXPECT_EQ(history.fixed(2).nodes, 2);
  EXPECT_THAT(history.decision(), testing::HasSubstr("clamped"));
}

TEST(DraftHistory, AFixedPathLengthIsAChainUnlessMoreNodesAreAskedFor) {
  const WidthChoice chain =
      DraftHistory({.mode = DraftWidth::Mode::kFixed, .tokens = 9}, kTrees).fixed(16);
  EXPECT_EQ(chain.nodes, 4);
  EXPECT_EQ(chain.depth, 4);
  const WidthChoice tree =
      DraftHistory({.mode = DraftWidth::Mode::kFixed, .tokens = 2, .nodes = 99}, kTrees).fixed(16);
  EXPECT_EQ(tree.nodes, 16);
  EXPECT_EQ(tree.depth, 2);
}

TEST(DraftPlanner, DraftsNoMoreThanTheLimitCanUse) {
  const World world{.accepted = 11};
  DraftPlanner planner = experienced(world);
  Batch batch(planner);
  batch.add();
  batch.run(200, world);
  EXPECT_THAT(batch.widths(4), testing::ElementsAre(3));
  EXPECT_THAT(batch.widths(1), testing::ElementsAre(0));
}

TEST(DraftPlanner, GoesWideWhileDraftingPays) {
  DraftPlanner planner(kChains, {}, kMostNodes);
  Batch batch(planner);
  const DraftHistory& history = batch.add();
  const World world{.draft = 0.2, .per_row = 0.05, .accepted = 11};
  EXPECT_LT(batch.run(1200, world), 1.08 * 100 * (1.2 + 0.55));
  EXPECT_THAT(history.decision(), testing::HasSubstr("on at width 11"));
}

TEST(DraftPlanner, FindsTheWidthThatAcceptanceIsWorth) {
  DraftPlanner planner(kChains, {}, kMostNodes);
  Batch batch(planner);
  batch.add();
  EXPECT_LT(batch.run(1200, {.draft = 0.2, .per_row = 0.2, .accepted = 3}),
            1.1 * 300 * (1.2 + 0.6));
  const int width = batch.widths().front();
  EXPECT_GE(width, 3);
  EXPECT_LE(width, 4);
}

TEST(DraftPlanner, AsksADrafterThatNeverHitsEverMoreSeldom) {
  const World hostile{.draft = 0.3, .per_row = 0.1, .accepted = 0};
  DraftPlanner planner(kChains, {}, kMostNodes);
  Batch batch(planner);
  const DraftHistory& history = batch.add();
  EXPECT_LT(batch.run(4000, hostile), 4000 * 1.003);
  const int before = batch.drafts;
  EXPECT_LE(before, 16);
  batch.run(40000, hostile);
  EXPECT_LE(batch.drafts, before + 4);
  EXPECT_THAT(history.decision(), testing::HasSubstr("off"));
}

TEST(DraftPlanner, AHostileDrafterCostsTwoInAHundredOfAShortRunAtMost) {
  for (const World& hostile :
       {World{.draft = 0.3, .per_row = 0.05}, World{.draft = 1.1, .per_row = 0.12},
        World{.draft = 0.1, .per_row = 0.02, .per_waiting = 0.005}}) {
    DraftPlanner planner = experienced(hostile);
    Batch batch(planner);
    batch.add({}, /*prompt=*/128);
    EXPECT_LT(batch.run(200, hostile), 200 * 1.02) << hostile.draft;
  }
}

// However many requests there are, one of them at a time finds out.
TEST(DraftPlanner, AHostileDrafterCostsManyRequestsNoMoreThanOne) {
  const World hostile{.draft = 1, .per_row = 0.12, .per_draft = 0.05};
  DraftPlanner planner = experienced(hostile);
  Batch batch(planner);
  for (int i = 0; i < 8; ++i) batch.add();
  const double plain = 64 * hostile.forward(8);
  EXPECT_LT(batch.run(8 * 64, hostile), plain * 1.05);
  for (int more = 0; more < 20; ++more) {
    batch.clear();
    for (int i = 0; i < 8; ++i) batch.add();
    EXPECT_LT(batch.run(8 * 64, hostile), plain * 1.02) << more;
  }
}

// What drafting wins in one request it may lose in looks at another.
TEST(DraftPlanner, AGoodDrafterMayBeLookedAtMoreOften) {
  const World good{.draft = 0.8, .per_row = 0.05, .accepted = 5},
      bad{.draft = 0.8, .per_row = 0.05};
  const auto looks = [&](bool after_hits) {
    DraftPlanner planner = experienced(good);
    Batch batch(planner);
    batch.add();
    if (after_hits) batch.run(100, good);
    batch.clear();
    batch.add();
    batch.drafts = 0;
    batch.run(200, bad);
    return batch.drafts;
  };
  EXPECT_LE(looks(false), 3);
  EXPECT_GE(looks(true), 5);
}

TEST(DraftPlanner, DraftsForAllWhereOnePassForAllPays) {
  const World world{.draft = 1.5, .per_row = 0.02, .accepted = 2};
  DraftPlanner planner = experienced(world);
  Batch batch(planner);
  for (int i = 0; i < 4; ++i) batch.add();
  batch.run(4 * 200, world);
  EXPECT_THAT(batch.widths(), testing::Each(testing::AllOf(testing::Ge(2), testing::Le(4))));
  batch.clear();
  batch.add();
  EXPECT_LE(batch.run(300, world), 300) << "two tokens pay no pass for one";
}

// Rows cost more in a large forward than in a small one.
TEST(DraftPlanner, StopsWhereAForwardOfMoreRowsNoLongerPays) {
  const World world{.draft = 0.3, .per_row = 0.8, .accepted = 1};
  DraftPlanner planner = experienced(world);
  Batch batch(planner);
  for (int i = 0; i < 8; ++i) batch.add();
  const double plain = 200 * world.forward(8);
  EXPECT_LT(batch.run(8 * 200, world), plain * 1.04);
  EXPECT_LT(batch.run(8 * 200, world), plain * 1.015) << "what forwards cost is known by now";
}

TEST(DraftPlanner, GivesTheTokensToTheRequestsThatTheyServe) {
  const World world{.draft = 0.3, .per_row = 0.1};
  DraftPlanner planner = experienced(world);
  Batch batch(planner);
  for (int i = 0; i < 4; ++i) batch.add();
  batch.run(2000, world, {11, 0, 3, 0});
  const std::vector<int> widths = batch.widths();
  EXPECT_GE(widths[0], 8);
  EXPECT_LE(widths[1], 2);
  EXPECT_GE(widths[2], 3);
  EXPECT_LE(widths[2], 4);
  EXPECT_LE(widths[3], 2);
}

TEST(DraftPlanner, ANewRequestStartsFromWhatOthersSaw) {
  const World world{.accepted = 11};
  DraftPlanner planner = experienced(world);
  Batch batch(planner);
  batch.add();
  batch.run(300, world);
  batch.add();
  EXPECT_THAT(batch.widths(), testing::Each(11));
}

TEST(DraftPlanner, DraftsOfAllRequestsTogetherStayBelowTheLimit) {
  const World world{.accepted = 11};
  DraftPlanner planner = experienced(world);
  Batch batch(planner);
  for (int i = 0; i < 40; ++i) batch.add();
  batch.run(4000, world);
  int nodes = 0;
  for (const int width : batch.widths()) nodes += width;
  EXPECT_GT(nodes, 40);
  EXPECT_LE(nodes, kMostNodes);
}

TEST(DraftPlanner, PrefersTheTreeWhereItsHitsAreWorthItsRows) {
  const auto chosen = [&](double per_row) {
    RoundCosts costs;
    for (int i = 0; i < 3; ++i) {
      for (const int rows : {1, 5, 17}) costs.verify.add(rows, 1 + per_row * rows);
      costs.chain.of(1).add(4, 0.1);
    }
    DraftPlanner planner(kTrees, costs, kMostNodes);
    DraftHistory history({}, kTrees);
    for (int i = 0; i < 20; ++i) {
      planner.record(history, {.nodes = 4, .depth = 4, .accepted = 1, .accepted_first = 1});
      planner.record(history, {.nodes = 16, .depth = 4, .accepted = 4, .accepted_first = 1});
    }
    DraftSeat seat{.history = &history, .room = 16, .tokens_left = 99, .waiting = 1, .choice = {}};
    planner.choose(std::span(&seat, 1));
    return seat.choice.nodes;
  };
  EXPECT_EQ(chosen(0.01), 16);
  EXPECT_LE(chosen(0.5), 4);
}

TEST(DraftPlanner, TurnsOffAGoodDrafterThatCostsTooMuch) {
  DraftPlanner planner(kChains, {}, kMostNodes);
  Batch batch(planner);
  batch.add();
  EXPECT_LT(batch.run(4000, {.draft = 12, .per_row = 0.1, .accepted = 11}), 4000 * 1.02);
}

TEST(DraftPlanner, ResumesWhenTheDrafterStartsToHit) {
  DraftPlanner planner(kChains, {}, kMostNodes);
  Batch batch(planner);
  batch.add();
  batch.run(300, {.draft = 1.5, .per_row = 0.1, .accepted = 1});
  EXPECT_LT(batch.run(4000, {.draft = 1.5, .per_row = 0.1, .accepted = 11}), 4000 * 0.5);
}

// A prompt that a draft must take in first is worth it for a long answer only.
TEST(DraftPlanner, CountsTheRowsThatADraftMustTakeInFirst) {
  const World world{.draft = 0.2, .per_row = 0.05, .accepted = 2, .per_waiting = 0.01};
  DraftPlanner planner = experienced(world);
  Batch batch(planner);
  batch.add({}, 400);
  batch.run(200, world);
  batch.clear();
  batch.add({}, 400);
  EXPECT_THAT(batch.widths(4), testing::ElementsAre(0));
  EXPECT_THAT(batch.widths(400), testing::ElementsAre(testing::Ge(2)));
}

TEST(CostCurve, DrawsLinesBetweenMeasurementsAndGoesOnBeyondThem) {
  CostCurve curve;
  for (int i = 0; i < 3; ++i) curve.add(2, 2.0);
  EXPECT_LT(curve.at(1), 2.0);
  curve.add(6, 4.0);
  EXPECT_DOUBLE_EQ(curve.at(4), 3.0);
  EXPECT_DOUBLE_EQ(curve.at(8), 5.0);
}

TEST(CostCurve, ASizeMeasuredInAStallIsJudgedByItsNeighbours) {
  CostCurve curve;
  for (int i = 0; i < 3; ++i) {
    curve.add(8, 1.0);
    curve.add(16, 1.5);
  }
  curve.add(12, 90.0);
  curve.add(32, 90.0);
  EXPECT_DOUBLE_EQ(curve.at(12), 1.5);
  EXPECT_DOUBLE_EQ(curve.at(10), 1.25);
  EXPECT_DOUBLE_EQ(curve.at(32), 3.0);
}

TEST(CostCurve, TellsHowMuchItKnowsAboutASize) {
  CostCurve curve;
  for (int i = 0; i < 10; ++i) curve.add(8, 1.0);
  EXPECT_DOUBLE_EQ(curve.evidence(8), 10);
  EXPECT_GT(curve.evidence(9), 5);
  EXPECT_DOUBLE_EQ(curve.evidence(24), 0);
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
  acceptance.fade(3);
  for (int i = 0; i < 4; ++i) acceptance.add(2, 2);
  EXPECT_GT(acceptance.hit(1, 0.7), 0.5);
}

}  // namespace
}  // namespace spindrift
