// Blocks that the engine keeps, on the demo pair: layers with a window of 128 and a drafter whose
// context is a window too.
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "kernels/registry.h"
#include "laws/demo_pair.h"
#include "support/ledger.h"

namespace spindrift {
namespace {

using spindrift::testing::demo;
using spindrift::testing::Recorded;
using spindrift::testing::Recorder;

Request request(const std::vector<TokenId>& prompt, int width, RequestListener* listener) {
  Request r;
  r.prompt = prompt;
  r.sampling = {.temperature = 0.7F, .seed = 4};
  r.stop = {.ids = {}, .ignore_eos = true, .max_new_tokens = 40};
  r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = width};
  r.ledger = true;
  r.listener = listener;
  return r;
}

class LagunaPrefix : public ::testing::Test {
 protected:
  Engine engine(int64_t kept, int64_t budget = 0) {
    return Engine(*demo().target.model, demo().drafter.drafter.get(),
                  {.pool = nullptr, .kernels = &kernels::table(kernels::usable_isas().back())},
                  {.prefill_chunk = 100, .memory_budget = budget, .prefix_cache = kept});
  }
  static Recorded run(Engine& engine, const std::vector<TokenId>& prompt, int width) {
    Recorder recorder;
    EXPECT_TRUE(engine.submit(request(prompt, width, &recorder)).ok());
    while (!recorder.run.finished) engine.step();
    return std::move(recorder.run);
  }
  static std::vector<TokenId> beginning(int64_t length, TokenId last) {
    std::vector<TokenId> ids;
    while (std::ssize(ids) < length)
      ids.insert(ids.end(), demo().long_prompt.begin(), demo().long_prompt.end());
    ids.resize(static_cast<size_t>(length));
    ids.push_back(last);
    return ids;
  }
};

TEST_F(LagunaPrefix, ARequestThatBeginsWithKeptBlocksHasTheLedgerAndTheDraftsOfAFreshOne) {
  for (const int width : {0, 11}) {
    Engine keeps = engine(int64_t{1} << 30);
    Engine forgets = engine(0);
    run(keeps, beginning(400, 3), width);
    for (const int64_t shared : {400, 400 - 70, 130, 64}) {
      const std::vector<TokenId> prompt = beginning(shared, 77);
      const Recorded again = run(keeps, prompt, width);
      const Recorded fresh = run(forgets, prompt, width);
      EXPECT_EQ(again.outcome.stats.reused_tokens, shared / 64 * 64);
      EXPECT_EQ(again.ledger, fresh.ledger);
      EXPECT_EQ(again.outcome.stats.draft.drafted, fresh.outcome.stats.draft.drafted);
      EXPECT_EQ(again.outcome.stats.draft.accepted, fresh.outcome.stats.draft.accepted);
    }
  }
}

TEST_F(LagunaPrefix, AnAnswerIsKeptForTheNextTurn) {
  Engine keeps = engine(int64_t{1} << 30);
  Engine forgets = engine(0);
  const std::vector<TokenId> prompt = beginning(180, 5);
  const Recorded first = run(keeps, prompt, 6);
  std::vector<TokenId> next = prompt;
  next.insert(next.end(), first.outcome.tokens.begin(), first.outcome.tokens.end());
  next.insert(next.end(), {23, 400, 470});
  const Recorded second = run(keeps, next, 6);
  EXPECT_EQ(second.outcome.stats.reused_tokens, 192);
  EXPECT_EQ(second.ledger, run(forgets, next, 6).ledger);
}

TEST_F(LagunaPrefix, BlocksWithoutDraftContextServePlainRequestsOnly) {
  const Drafter* none = nullptr;
  Engine keeps(*demo().target.model, none,
               {.pool = nullptr, .kernels = &kernels::table(kernels::usable_isas().back())},
               {.prefix_cache = int64_t{1} << 30});
  const std::vector<TokenId> prompt = beginning(200, 5);
  const Recorded first = run(keeps, prompt, 0);
  const Recorded second = run(keeps, prompt, 0);
  EXPECT_EQ(second.outcome.stats.reused_tokens, 192);
  EXPECT_EQ(second.ledger, first.ledger);
}

TEST_F(LagunaPrefix, ManyAtOnceInASmallBudgetHaveTheirOwnLedgers) {
  Engine forgets = engine(0);
  std::vector<std::vector<TokenId>> prompts;
  std::vector<Recorded> alone;
  for (int i = 0; i < 8; ++i) {
    prompts.push_back(beginning(60 + 45 * (i % 4), 10 + i % 3));
    alone.push_back(run(forgets, prompts.back(), i % 5));
  }
  Engine unlimited = engine(0);
  Recorder largest;
  ASSERT_TRUE(unlimited.submit(request(prompts[3], 4, &largest)).ok());
  int64_t one = 0;
  while (unlimited.step()) one = std::max(one, unlimited.memory_in_use());
  for (const int64_t kept : {int64_t{0}, int64_t{1} << 30}) {
    const int64_t budget = one + one / 2;
    Engine small = engine(kept, budget);
    std::vector<Recorder> recorders(prompts.size());
    for (size_t i = 0; i < prompts.size(); ++i)
      ASSERT_TRUE(small.submit(request(prompts[i], static_cast<int>(i % 5), &recorders[i])).ok());
    for (int steps = 1; small.step(); ++steps) {
      EXPECT_LE(small.memory_in_use(), budget);
      if (steps % 7 == 0) small.preempt(1 + steps % 8);
    }
    for (size_t i = 0; i < prompts.size(); ++i)
      EXPECT_EQ(recorders[i].run.ledger, alone[i].ledger) << i << ", kept " << kept;
    EXPECT_EQ(small.snapshot().context_bytes, small.snapshot().prefix_bytes);
  }
}

}  // namespace
}  // namespace spindrift
