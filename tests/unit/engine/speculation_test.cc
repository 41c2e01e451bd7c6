#include "engine/speculation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

using testing::ElementsAre;

// Draws answers[row]; an answer of -1 is an error.
auto answers(std::vector<TokenId> by_row) {
  return [by_row](RowIndex row, std::span<const TokenId>) -> Result<TokenId> {
    const TokenId token = by_row.at(static_cast<size_t>(row));
    if (token < 0) return Error{ErrorCode::kCorrupt, "bad row"};
    return token;
  };
}

TEST(Replay, WithoutADraftOneTokenIsDrawn) {
  std::vector<TokenId> history = {9};
  const std::vector<TokenId> tokens = {9};
  const std::vector<RowIndex> parents = {kRoot};
  const Walk walk = replay(tokens, parents, history, answers({4}));
  EXPECT_THAT(walk.path, ElementsAre(0));
  EXPECT_THAT(walk.emitted, ElementsAre(4));
}

TEST(Replay, AChainIsKeptToItsFirstMissAndTheMissIsReplaced) {
  std::vector<TokenId> history = {9};
  const std::vector<TokenId> tokens = {9, 1, 2, 3};
  const std::vector<RowIndex> parents = {kRoot, 0, 1, 2};
  const Walk walk = replay(tokens, parents, history, answers({1, 2, 7, 8}));
  EXPECT_THAT(walk.path, ElementsAre(0, 1, 2));
  EXPECT_THAT(walk.emitted, ElementsAre(1, 2, 7));
  EXPECT_THAT(history, ElementsAre(9));
}

TEST(Replay, ATreeIsWalkedDownTheBranchTheTargetTakes) {
  std::vector<TokenId> history = {9};
  const std::vector<TokenId> tokens = {9, 1, 2, 5, 6};
  const std::vector<RowIndex> parents = {kRoot, 0, 0, 1, 2};
  const Walk walk = replay(tokens, parents, history, answers({2, 0, 6, 0, 3}));
  EXPECT_THAT(walk.path, ElementsAre(0, 2, 4));
  EXPECT_THAT(walk.emitted, ElementsAre(2, 6, 3));
}

TEST(Replay, EveryDrawSeesTheHistoryOfItsOwnPath) {
  std::vector<TokenId> history = {8, 9};
  const std::vector<TokenId> tokens = {9, 1, 2};
  const std::vector<RowIndex> parents = {kRoot, 0, 1};
  std::vector<size_t> lengths;
  const auto draw = [&](RowIndex row, std::span<const TokenId> h) -> Result<TokenId> {
    lengths.push_back(h.size());
    return row + 1;
  };
  replay(tokens, parents, history, draw);
  EXPECT_THAT(lengths, ElementsAre(2, 3, 4));
}

TEST(Replay, AnErrorEndsTheWalkBeforeItsRow) {
  std::vector<TokenId> history = {9};
  const std::vector<TokenId> tokens = {9, 1, 2};
  const std::vector<RowIndex> parents = {kRoot, 0, 1};
  const Walk walk = replay(tokens, parents, history, answers({1, -1, 0}));
  EXPECT_THAT(walk.path, ElementsAre(0));
  EXPECT_THAT(walk.emitted, ElementsAre(1));
  EXPECT_TRUE(walk.error.has_value());
}

TEST(DraftDepth, IsTheLongestPathBelowTheBonus) {
  const std::vector<RowIndex> parents = {kRoot, kRoot, 0, 2, 1};
  EXPECT_EQ(draft_depth(parents), 3);
  EXPECT_EQ(draft_depth({}), 0);
}

}  // namespace
}  // namespace spindrift
