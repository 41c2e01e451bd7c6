#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/thread_pool.h"
#include "drafters/dflash/drafter.h"
#include "kernels/registry.h"
#include "unit/drafters/dflash_fixture.h"

namespace spindrift::testing {
namespace {

Exec one_thread() { return {.pool = nullptr, .kernels = &kernels::table(kernels::Isa::kScalar)}; }

// What a drafter makes of one conversation.
struct Talk {
  Talk(const SmallDrafter& small, const MadeUpTaps& its_taps)
      : drafter(small.drafter), taps(its_taps) {
    state = drafter.open();
  }
  void observe(Position end, int64_t chunk = 1000, const Exec& ex = one_thread()) {
    taps.observe(drafter, *state, end, chunk, ex);
  }
  DraftCall call(TokenId bonus, int max_nodes) {
    return {.state = state.get(), .bonus = bonus, .max_nodes = max_nodes, .out = &tree};
  }
  // The block's rows, each as bytes.
  std::vector<std::vector<std::byte>> block(TokenId bonus, int max_nodes,
                                            const Exec& ex = one_thread()) {
    const DraftCall one = call(bonus, max_nodes);
    const ConstRows hidden = drafter.block_hidden(std::span(&one, 1), ws, ex);
    std::vector<std::vector<std::byte>> rows;
    for (int64_t r = 0; r < hidden.rows(); ++r) rows.push_back(bytes_of(hidden.slice(r, 1)));
    return rows;
  }
  DraftTree propose(TokenId bonus, int max_nodes, const Exec& ex = one_thread()) {
    const DraftCall one = call(bonus, max_nodes);
    drafter.propose(std::span(&one, 1), ws, ex);
    return tree;
  }

  const dflash::DFlashDrafter& drafter;
  const MadeUpTaps& taps;
  std::unique_ptr<DraftState> state;
  DraftTree tree;
  Workspace ws;
};

TEST(DFlashDrafter, ProposesAChainOfBlockSizeLessOneTokensAtMost) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 10, 1);
  Talk talk(small, taps);
  talk.observe(10);
  const DraftTree tree = talk.propose(3, 100);
  EXPECT_EQ(tree.tokens.size(), 7U);
  EXPECT_EQ(tree.parents, (std::vector<RowIndex>{-1, 0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE(talk.propose(3, 0).tokens.empty());
  EXPECT_EQ(talk.state->observed(), 10);
}

TEST(DFlashDrafter, ChangingABlockPositionChangesOnlyItsRowAndLaterOnes) {
  SmallDrafter small;
  const MadeUpTaps taps(small.config, 40, 1);
  Talk plain(small, taps);
  plain.observe(40);
  const auto expected = plain.block(3, 7);
  for (int64_t j = 0; j < 8; ++j) {
    small.target.changed_row = j;
    Talk talk(small, taps);
    talk.observe(40);
    const auto rows = talk.block(3, 7);
    for (int64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(rows[static_cast<size_t>(i)] == expected[static_cast<size_t>(i)], i < j)
          << "row " << i << ", changed row " << j;
    }
  }
}

// One layer, so that no block row carries what it saw to a later one.
TEST(DFlashDrafter, A600PositionContextFeedsEachRowExactlyThePositionsItsWindowAllows) {
  constexpr Position kContext = 600, kWindow = 512;
  constexpr int kBlock = 16;
  const SmallDrafter small(small_dflash_config(1, kWindow, kBlock));
  const auto rows_with = [&](Position changed) {
    MadeUpTaps taps(small.config, kContext, 1);
    if (changed >= 0) taps.change(changed);
    Talk talk(small, taps);
    talk.observe(kContext, 200);
    return talk.block(3, kBlock - 1);
  };
  const auto expected = rows_with(-1);
  std::vector<Position> changes = {0, 1, 599};
  for (Position p = kContext - kWindow; p <= kContext - kWindow + kBlock; ++p) changes.push_back(p);
  for (const Position p : changes) {
    const auto rows = rows_with(p);
    for (int i = 0; i < kBlock; ++i) {
      const bool seen = kContext + i - p < kWindow;
      EXPECT_EQ(rows[static_cast<size_t>(i)] != expected[static_cast<size_t>(i)], seen)
          << "row " << i << ", position " << p;
    }
  }
}

TEST(DFlashDrafter, ANarrowerBlockHasTheSameBits) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 50, 1);
  Talk wide(small, taps);
  wide.observe(50);
  const auto expected = wide.block(3, 7);
  const DraftTree drafted = wide.propose(3, 7);
  for (int n = 1; n < 7; ++n) {
    Talk talk(small, taps);
    talk.observe(50);
    const auto rows = talk.block(3, n);
    ASSERT_EQ(std::ssize(rows), n + 1);
    for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], expected[i]) << n << " " << i;
    const DraftTree tree = talk.propose(3, n);
    EXPECT_EQ(tree.tokens,
              std::vector<TokenId>(drafted.tokens.begin(), drafted.tokens.begin() + n));
  }
}

// Cut back at every age of the state: rows projected, waiting, or both.
TEST(DFlashDrafter, ATruncatedContextDraftsAsOneThatNeverSawTheTail) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 90, 1);
  int cut = 0;
  for (const Position projected : {0, 20, 60})
    for (const Position end : {20, 61, 90})
      for (Position n = 0; n <= end; n += 3) {
        if (projected > end) continue;
        Talk talk(small, taps);
        if (projected > 0) {
          talk.observe(projected);
          talk.propose(3, 7);
        }
        talk.observe(end, 9);
        if (!talk.state->truncate(n).ok()) {
          EXPECT_LT(n, end);
          continue;
        }
        ++cut;
        ASSERT_EQ(talk.state->observed(), n);
        Talk fresh(small, taps);
        fresh.observe(n);
        EXPECT_EQ(talk.block(3, 7), fresh.block(3, 7)) << projected << ' ' << end << ' ' << n;
        talk.observe(end);
        fresh.observe(end);
        EXPECT_EQ(talk.block(5, 7), fresh.block(5, 7)) << projected << ' ' << end << ' ' << n;
      }
  EXPECT_GT(cut, 50);
}

TEST(DFlashDrafter, ConversationsInOnePassComputeWhatEachComputesAlone) {
  const SmallDrafter small;
  const MadeUpTaps first_taps(small.config, 90, 1), second_taps(small.config, 90, 2);
  Talk first(small, first_taps), second(small, second_taps), idle(small, second_taps);
  first.observe(90);
  second.observe(13);
  const auto first_alone = first.block(3, 7), second_alone = second.block(4, 5);

  Talk a(small, first_taps), b(small, second_taps);
  a.observe(90);
  b.observe(13);
  idle.observe(5);
  const std::vector<DraftCall> calls = {a.call(3, 7), idle.call(1, 0), b.call(4, 5)};
  Workspace ws;
  const ConstRows together = small.drafter.block_hidden(calls, ws, one_thread());
  ASSERT_EQ(together.rows(), 8 + 6);
  for (int64_t r = 0; r < 8; ++r) {
    EXPECT_EQ(bytes_of(together.slice(r, 1)), first_alone[static_cast<size_t>(r)]);
  }
  for (int64_t r = 0; r < 6; ++r) {
    EXPECT_EQ(bytes_of(together.slice(8 + r, 1)), second_alone[static_cast<size_t>(r)]);
  }
  small.drafter.propose(calls, ws, one_thread());
  EXPECT_EQ(a.tree.tokens, first.propose(3, 7).tokens);
  EXPECT_EQ(b.tree.tokens, second.propose(4, 5).tokens);
  EXPECT_TRUE(idle.tree.tokens.empty());
}

TEST(DFlashDrafter, ObservingInAnySplitGivesTheSameStateAndTheSameRows) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 300, 1);
  for (const Position length : {1, 23, 24, 25, 40, 41, 160, 300}) {
    Talk whole(small, taps);
    whole.observe(length);
    const auto expected = whole.block(3, 7);
    const auto expected_state = context_bytes(small.config, *whole.state);
    for (const int64_t chunk : {1, 7, 16, 64, 130}) {
      for (const bool drafting : {false, true}) {
        Talk talk(small, taps);
        for (Position end = 0; end < length;) {
          end = std::min(length, end + chunk);
          talk.observe(end);
          if (drafting) talk.propose(5, 3);
        }
        EXPECT_EQ(talk.block(3, 7), expected) << length << " " << chunk << " " << drafting;
        EXPECT_EQ(context_bytes(small.config, *talk.state), expected_state)
            << length << " " << chunk << " " << drafting;
      }
    }
  }
}

TEST(DFlashDrafter, WhatWasProposedLeavesNoTrace) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 60, 1);
  Talk talk(small, taps), fresh(small, taps);
  talk.observe(50);
  talk.propose(5, 7);
  talk.propose(9, 2);
  talk.observe(60);
  fresh.observe(60);
  EXPECT_EQ(talk.block(3, 7), fresh.block(3, 7));
  EXPECT_EQ(context_bytes(small.config, *talk.state), context_bytes(small.config, *fresh.state));
}

TEST(DFlashDrafter, AResetStateIsAsNew) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 60, 1), other_taps(small.config, 60, 2);
  Talk talk(small, taps), fresh(small, other_taps);
  talk.observe(60);
  talk.propose(5, 7);
  talk.state->reset();
  EXPECT_EQ(talk.state->observed(), 0);
  other_taps.observe(small.drafter, *talk.state, 30, 30, one_thread());
  fresh.observe(30);
  EXPECT_EQ(talk.block(3, 7), fresh.block(3, 7));
}

TEST(DFlashDrafter, AWindowOfOneSeesOnlyTheRowItself) {
  const SmallDrafter small(small_dflash_config(1, 1, 4));
  const MadeUpTaps taps(small.config, 60, 1), other_taps(small.config, 60, 2);
  Talk talk(small, taps), other(small, other_taps);
  talk.observe(60, 7);
  other.observe(60, 60);
  EXPECT_EQ(talk.block(3, 3), other.block(3, 3));
}

TEST(DFlashDrafter, DraftsFromAnEmptyContext) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 1, 1);
  Talk talk(small, taps);
  EXPECT_EQ(talk.propose(3, 7).tokens.size(), 7U);
}

TEST(DFlashDrafter, ThreadsAndInstructionSetsDoNotReachTheBits) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 90, 1);
  Talk plain(small, taps);
  plain.observe(90);
  const auto expected = plain.block(3, 7);
  ThreadPool pool(3);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
      const Exec ex{.pool = threads, .kernels = &kernels::table(isa)};
      Talk talk(small, taps);
      talk.observe(90, 20, ex);
      EXPECT_EQ(talk.block(3, 7, ex), expected) << kernels::table(isa).name;
    }
  }
}

TEST(DFlashDrafter, ALongWaitHoldsNoMoreThanTheWindow) {
  const SmallDrafter small;
  const MadeUpTaps taps(small.config, 2000, 1);
  Talk talk(small, taps), short_wait(small, taps);
  talk.observe(2000, 8);
  short_wait.observe(64, 8);
  EXPECT_LE(talk.state->bytes(), short_wait.state->bytes());
}

}  // namespace
}  // namespace spindrift::testing
