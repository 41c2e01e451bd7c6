#include "drafters/scripted.h"

#include <gtest/gtest.h>

#include <numeric>

namespace spindrift {
namespace {

constexpr int64_t kVocab = 50;

// 10, 11, 12, ...
ReferenceIds counting(int length) {
  ReferenceIds ids(static_cast<size_t>(length));
  std::iota(ids.begin(), ids.end(), 10);
  return ids;
}

struct Conversation {
  explicit Conversation(const Drafter& its_drafter) : drafter(its_drafter), state(drafter.open()) {}
  void observe(std::vector<TokenId> tokens) {
    const std::vector<ConstRows> taps;
    drafter.observe(*state, {.first = state->observed(), .tokens = tokens, .taps = taps}, ws, {});
  }
  DraftTree propose(TokenId bonus, int max_nodes = 16) {
    DraftTree tree;
    const DraftCall call{
        .state = state.get(), .bonus = bonus, .max_nodes = max_nodes, .out = &tree};
    drafter.propose(std::span(&call, 1), ws, {});
    return tree;
  }
  const Drafter& drafter;
  std::unique_ptr<DraftState> state;
  Workspace ws;
};

TEST(ScriptedDrafter, HitsAreTheTrueContinuationAndMissesAreNot) {
  const ScriptedDrafter drafter(kVocab, {counting(20)}, {scripted_chain(2, 4)});
  Conversation talk(drafter);
  talk.observe({10, 11, 12});
  const DraftTree tree = talk.propose(13);
  ASSERT_EQ(tree.tokens.size(), 4U);
  EXPECT_EQ(tree.tokens[0], 14);
  EXPECT_EQ(tree.tokens[1], 15);
  EXPECT_NE(tree.tokens[2], 16);
  EXPECT_EQ(tree.parents, (std::vector<RowIndex>{-1, 0, 1, 2}));
}

TEST(ScriptedDrafter, RoundsFollowEachOtherAndStartOver) {
  const ScriptedDrafter drafter(kVocab, {counting(20)},
                                {scripted_chain(1, 1), scripted_chain(0, 2), {}});
  Conversation talk(drafter);
  talk.observe({10});
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_EQ(talk.propose(11).tokens, (std::vector<TokenId>{12}));
    const DraftTree miss = talk.propose(11);
    ASSERT_EQ(miss.tokens.size(), 2U);
    EXPECT_NE(miss.tokens[0], 12);
    EXPECT_TRUE(talk.propose(11).tokens.empty());
  }
}

TEST(ScriptedDrafter, SiblingsInATreeDifferAndOneOfThemMayHit) {
  const ScriptedRound tree_round = {{kRoot, false}, {kRoot, true}, {kRoot, false},
                                    {1, true},      {1, false},    {0, false}};
  const ScriptedDrafter drafter(kVocab, {counting(20)}, {tree_round});
  Conversation talk(drafter);
  talk.observe({10});
  const DraftTree tree = talk.propose(11);
  ASSERT_EQ(tree.tokens.size(), 6U);
  EXPECT_EQ(tree.parents, (std::vector<RowIndex>{-1, -1, -1, 1, 1, 0}));
  EXPECT_EQ(tree.tokens[1], 12);
  EXPECT_NE(tree.tokens[0], 12);
  EXPECT_NE(tree.tokens[2], 12);
  EXPECT_NE(tree.tokens[0], tree.tokens[2]);
  EXPECT_EQ(tree.tokens[3], 13);
  EXPECT_NE(tree.tokens[4], 13);
}

TEST(ScriptedDrafter, AHitBehindAMissIsTheTokenThatWouldBeRightThere) {
  const ScriptedDrafter drafter(kVocab, {counting(20)}, {{{kRoot, false}, {0, true}}});
  Conversation talk(drafter);
  talk.observe({10});
  const DraftTree tree = talk.propose(11);
  EXPECT_NE(tree.tokens[0], 12);
  EXPECT_EQ(tree.tokens[1], 13);
}

TEST(ScriptedDrafter, ACutConversationGoesOnFromWhereItWasCut) {
  const ScriptedDrafter drafter(kVocab, {counting(20)}, {scripted_chain(1, 1)});
  Conversation talk(drafter);
  talk.observe({10, 11, 99});
  ASSERT_TRUE(talk.state->truncate(2).ok());
  EXPECT_EQ(talk.state->observed(), 2);
  EXPECT_EQ(talk.propose(12).tokens, (std::vector<TokenId>{13}));
}

TEST(ScriptedDrafter, ProposesNothingBeyondTheEndOfAReference) {
  const ScriptedDrafter drafter(kVocab, {counting(5)}, {scripted_chain(8, 8)});
  Conversation talk(drafter);
  talk.observe({10, 11});
  EXPECT_EQ(talk.propose(12).tokens, (std::vector<TokenId>{13, 14}));
}

TEST(ScriptedDrafter, KnowsAConversationByItsTokens) {
  const ScriptedDrafter drafter(kVocab, {{1, 2, 3, 4}, {1, 2, 30, 40}}, {scripted_chain(1, 1)});
  Conversation first(drafter), second(drafter), unknown(drafter);
  for (Conversation* talk : {&first, &second, &unknown}) talk->observe({1, 2});
  EXPECT_EQ(first.propose(3).tokens, (std::vector<TokenId>{4}));
  EXPECT_EQ(second.propose(30).tokens, (std::vector<TokenId>{40}));
  EXPECT_TRUE(unknown.propose(5).tokens.empty());
}

TEST(ScriptedDrafter, NeverExceedsTheNodesItMayPropose) {
  const ScriptedDrafter drafter(kVocab, {counting(20)}, {scripted_chain(6, 6)});
  Conversation talk(drafter);
  talk.observe({10});
  EXPECT_EQ(talk.propose(11, 2).tokens, (std::vector<TokenId>{12, 13}));
  EXPECT_TRUE(talk.propose(11, 0).tokens.empty());
  EXPECT_EQ(drafter.max_nodes(), 6);
}

TEST(ScriptedDrafter, WithAnInnerDrafterItForwardsEveryCallAndKeepsItsScript) {
  const ScriptedDrafter inner(kVocab, {counting(20)}, {scripted_chain(0, 3)});
  const ScriptedDrafter outer(kVocab, {counting(20)}, {scripted_chain(2, 2)}, &inner);
  Conversation talk(outer);
  talk.observe({10, 11});
  EXPECT_EQ(talk.propose(12).tokens, (std::vector<TokenId>{13, 14}));
  talk.observe({12, 13});
  EXPECT_EQ(talk.propose(14).tokens, (std::vector<TokenId>{15, 16}));
  EXPECT_EQ(talk.state->observed(), 4);
  talk.state->reset();
  EXPECT_EQ(talk.state->observed(), 0);
}

}  // namespace
}  // namespace spindrift
