#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "core/thread_pool.h"
#include "support/ledger.h"
#include "support/oracle_drafter.h"
#include "support/toy_target.h"

namespace spindrift {
namespace {

using spindrift::testing::chain_pattern;
using spindrift::testing::every_chain;
using spindrift::testing::OracleDrafter;
using spindrift::testing::Recorder;
using spindrift::testing::ToyTarget;
using ::testing::HasSubstr;

constexpr DraftWidth kFixed4{.mode = DraftWidth::Mode::kFixed, .tokens = 4};

const std::vector<TokenId>& prompt() {
  static const std::vector<TokenId> ids = {3, 14, 15, 92, 65, 35};
  return ids;
}

std::string spelled(TokenId id) {
  std::string out = "<";
  return out.append(std::to_string(id)).append(">");
}

// Spells id n as "<n>".
class Spelled final : public TextDecoder {
 public:
  std::string push(TokenId id) override { return spelled(id); }
  std::string finish() override { return ""; }
};

Request request(int64_t tokens, DraftWidth draft = {}) {
  Request r;
  r.prompt = prompt();
  r.stop.max_new_tokens = tokens;
  r.draft = draft;
  r.ledger = true;
  r.text = std::make_unique<Spelled>();
  return r;
}

// The toy target's plain continuation of prompt().
std::vector<TokenId> plain(int64_t tokens) {
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {});
  return engine.run(request(tokens)).value().tokens;
}

std::vector<TokenId> conversation(int64_t tokens) {
  std::vector<TokenId> ids = prompt();
  const std::vector<TokenId> answer = plain(tokens);
  ids.insert(ids.end(), answer.begin(), answer.end());
  return ids;
}

std::string spell(std::span<const TokenId> ids) {
  std::string out;
  for (const TokenId id : ids) out += spelled(id);
  return out;
}

TEST(Engine, AStopIdInsideAnAcceptedBlockCutsTokensCachesAndFigures) {
  const std::vector<TokenId> truth = plain(12);
  const ToyTarget target;
  const OracleDrafter drafter({conversation(20)}, chain_pattern(0xF, 4));
  Engine engine(target, &drafter, {}, {});
  Recorder recorder;
  Request r = request(12, kFixed4);
  r.stop.ids = {truth[3]};
  ASSERT_EQ(std::find(truth.begin(), truth.begin() + 3, truth[3]), truth.begin() + 3);
  r.listener = &recorder;
  const Outcome out = engine.run(std::move(r)).value();
  EXPECT_EQ(out.reason, FinishReason::kStop);
  EXPECT_EQ(out.tokens, std::vector<TokenId>(truth.begin(), truth.begin() + 4));
  EXPECT_EQ(out.text, spell(std::span(truth).first(3)));
  // The prefill gives one token; the round drafts four, all right, of which three are kept.
  ASSERT_EQ(recorder.run.accepted_emitted.size(), 1U);
  EXPECT_EQ(recorder.run.accepted_emitted[0], std::make_pair(4, 3));
  EXPECT_EQ(out.stats.draft.accepted, 3);
  EXPECT_EQ(out.stats.draft.drafted, 4);
  EXPECT_EQ(out.conversation->committed(), std::ssize(prompt()) + 3);
  EXPECT_EQ(recorder.run.drafted, (std::vector<bool>{false, true, true, true}));
}

TEST(Engine, TheTokenLimitCutsInsideABlock) {
  const OracleDrafter drafter({conversation(20)}, chain_pattern(0xF, 4));
  const ToyTarget target;
  Engine engine(target, &drafter, {}, {});
  const Outcome out = engine.run(request(8, kFixed4)).value();
  EXPECT_EQ(out.reason, FinishReason::kLength);
  EXPECT_EQ(out.tokens, plain(8));
  EXPECT_EQ(out.stats.draft.rounds, 2);
  EXPECT_EQ(out.stats.draft.accepted, 4 + 2);
}

TEST(Engine, TheContextEndsInsideABlockWithReasonLength) {
  const std::vector<TokenId> truth = conversation(40);
  for (Position context = 8; context < 20; ++context) {
    const ToyTarget target({.max_context = context});
    const OracleDrafter drafter({truth}, chain_pattern(0xF, 4));
    Engine engine(target, &drafter, {}, {});
    Request r = request(0, kFixed4);
    r.stop.max_new_tokens = std::nullopt;
    const Outcome out = engine.run(std::move(r)).value();
    EXPECT_EQ(out.reason, FinishReason::kLength);
    EXPECT_EQ(std::ssize(out.tokens) + std::ssize(prompt()), context);
    EXPECT_TRUE(
        std::equal(out.tokens.begin(), out.tokens.end(), truth.begin() + std::ssize(prompt())));
  }
}

TEST(Engine, AStopTextAcrossTokensEndsTheRunInsideABlock) {
  const std::vector<TokenId> truth = plain(12);
  std::string stop = ">";
  stop += spelled(truth[2]).substr(0, 2);
  const ToyTarget target;
  const OracleDrafter drafter({conversation(20)}, chain_pattern(0xF, 4));
  Engine engine(target, &drafter, {}, {});
  Recorder recorder;
  Request r = request(12, kFixed4);
  r.stop.texts = {stop};
  r.listener = &recorder;
  const Outcome out = engine.run(std::move(r)).value();
  EXPECT_EQ(out.reason, FinishReason::kStop);
  const std::string whole = spell(truth);
  EXPECT_EQ(out.text, whole.substr(0, whole.find(stop)));
  std::string streamed;
  for (const std::string& piece : recorder.run.pieces) streamed += piece;
  EXPECT_EQ(streamed, out.text);
}

TEST(Engine, FiguresCountRoundsDraftsAndAcceptanceByPosition) {
  // Misses, hits of one, hits of two: patterns 0b00, 0b01, 0b10 (a miss first), 0b11 in turn.
  const OracleDrafter drafter({conversation(40)}, every_chain(2));
  const ToyTarget target;
  Engine engine(target, &drafter, {}, {});
  const Outcome out =
      engine.run(request(1 + 7, {.mode = DraftWidth::Mode::kFixed, .tokens = 2})).value();
  const DraftStats& d = out.stats.draft;
  EXPECT_EQ(d.rounds, 4);
  EXPECT_EQ(d.plain_rounds, 0);
  EXPECT_EQ(d.drafted, 8);
  EXPECT_EQ(d.accepted, 0 + 1 + 0 + 2);
  EXPECT_DOUBLE_EQ(d.mean_accepted(), 0.75);
  EXPECT_DOUBLE_EQ(d.tokens_per_round(out.stats.generated_tokens), 2.0);
  EXPECT_EQ(d.acceptance_by_position(), (std::vector<double>{0.5, 0.25}));
}

TEST(Engine, ATraceLineHasWhatARoundDid) {
  const OracleDrafter drafter({conversation(20)}, chain_pattern(0x1, 2));
  const ToyTarget target;
  Engine engine(target, &drafter, {}, {});
  Recorder recorder;
  Request r = request(3, {.mode = DraftWidth::Mode::kFixed, .tokens = 2});
  r.listener = &recorder;
  const std::vector<TokenId> truth = plain(3);
  ASSERT_TRUE(engine.run(std::move(r)).ok());
  ASSERT_EQ(recorder.run.trace.size(), 1U);
  EXPECT_THAT(
      recorder.run.trace[0],
      ::testing::StartsWith("{\"round\":0,\"position\":6,\"bonus\":" + std::to_string(truth[0]) +
                            ",\"draft\":[" + std::to_string(truth[1]) + ","));
  EXPECT_THAT(recorder.run.trace[0], HasSubstr("\"accepted\":1,\"emitted\":2,\"draft_s\":0."));
  EXPECT_THAT(recorder.run.trace[0], HasSubstr("\"width\":2,\"why\":\"fixed\"}"));
}

TEST(Engine, ADamagedRowEndsTheRunWithATypedErrorAndKeepsThePartialOutput) {
  const ToyTarget target({.poisoned = 10});
  Engine engine(target, nullptr, {}, {});
  const Outcome out = engine.run(request(20)).value();
  EXPECT_EQ(out.reason, FinishReason::kError);
  ASSERT_TRUE(out.error.has_value());
  EXPECT_EQ(out.error->code, ErrorCode::kCorrupt);
  EXPECT_THAT(out.error->message, HasSubstr("position 10"));
  EXPECT_EQ(out.tokens, plain(4));
}

TEST(Engine, ADamagedRowBehindAStopDoesNoHarmWithADraftEither) {
  const std::vector<TokenId> truth = plain(12);
  const ToyTarget target({.poisoned = 10});
  const OracleDrafter drafter({conversation(20)}, chain_pattern(0xF, 4));
  Engine engine(target, &drafter, {}, {});
  Request r = request(20, kFixed4);
  r.stop.ids = {truth[2]};
  EXPECT_EQ(engine.run(std::move(r)).value().reason, FinishReason::kStop);
  Request to_the_end = request(20, kFixed4);
  const Outcome out = engine.run(std::move(to_the_end)).value();
  EXPECT_EQ(out.reason, FinishReason::kError);
  EXPECT_EQ(out.tokens, plain(4));
}

TEST(Engine, RequestsOutOfRangeAreRefusedByName) {
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {.context = 16});
  Request r = request(1);
  r.prompt = {};
  EXPECT_EQ(engine.submit(std::move(r)).error().code, ErrorCode::kUsage);
  r = request(1);
  r.prompt = {1, 97};
  EXPECT_THAT(engine.submit(std::move(r)).error().message, HasSubstr("found 97"));
  r = request(1);
  r.prompt = {-1};
  EXPECT_EQ(engine.submit(std::move(r)).error().code, ErrorCode::kUsage);
  r = request(1);
  r.prompt = std::vector<TokenId>(16, 1);
  EXPECT_EQ(engine.submit(std::move(r)).error().code, ErrorCode::kLimit);
  r = request(1);
  r.sampling.top_p = 2;
  EXPECT_EQ(engine.submit(std::move(r)).error().code, ErrorCode::kUsage);
  EXPECT_EQ(engine.pending(), 0);
  EXPECT_FALSE(engine.step());
}

TEST(Engine, ALimitOfZeroTokensEndsAtOnce) {
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {});
  const Outcome out = engine.run(request(0)).value();
  EXPECT_EQ(out.reason, FinishReason::kLength);
  EXPECT_TRUE(out.tokens.empty());
}

TEST(Engine, MemoryOverTheBudgetEndsALoneRequestWithALimitError) {
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {.memory_budget = 2 * 2 * 4 * 8 * 12});
  const Outcome out = engine.run(request(40)).value();
  EXPECT_EQ(out.reason, FinishReason::kError);
  EXPECT_EQ(out.error->code, ErrorCode::kLimit);
  EXPECT_EQ(out.tokens, plain(std::ssize(out.tokens)));
  EXPECT_GT(out.tokens.size(), 5U);
}

TEST(Engine, CancellingFromAnotherThreadKeepsThePartialOutput) {
  const ToyTarget target({.max_context = 100000});
  ThreadPool pool(3);
  Engine engine(target, nullptr, {.pool = &pool}, {});
  std::atomic<bool> stop{false};
  std::atomic<int> seen{0};
  class Counter final : public RequestListener {
   public:
    explicit Counter(std::atomic<int>& n) : n_(n) {}
    void on_token(const TokenEvent&) override { ++n_; }

   private:
    std::atomic<int>& n_;
  } counter(seen);
  Request r = request(90000);
  r.cancelled = &stop;
  r.listener = &counter;
  std::thread other([&] {
    while (seen.load() < 20) std::this_thread::yield();
    stop = true;
  });
  const Outcome out = engine.run(std::move(r)).value();
  other.join();
  EXPECT_EQ(out.reason, FinishReason::kInterrupted);
  EXPECT_GE(out.tokens.size(), 20U);
  const std::vector<TokenId> first(out.tokens.begin(), out.tokens.begin() + 20);
  EXPECT_EQ(first, plain(20));
  EXPECT_FALSE(out.text.empty());
}

TEST(Engine, TheNextTurnReadsOnlyWhatIsNewAndGivesTheSameLedger) {
  for (const Position window : {Position{0}, Position{9}}) {
    const ToyTarget target({.window = window});
    const OracleDrafter drafter({conversation(60)}, every_chain(3));
    Engine engine(target, &drafter, {}, {});
    Outcome first = engine.run(request(10)).value();
    std::vector<TokenId> next = prompt();
    next.insert(next.end(), first.tokens.begin(), first.tokens.end());
    next.insert(next.end(), {40, 41, 42});

    Request fresh = request(20);
    fresh.prompt = next;
    const Outcome alone = engine.run(std::move(fresh)).value();
    Request reused = request(20);
    reused.prompt = next;
    reused.conversation = std::move(first.conversation);
    const Outcome second = engine.run(std::move(reused)).value();
    EXPECT_EQ(second.stats.reused_tokens, std::ssize(prompt()) + 9);
    EXPECT_EQ(alone.stats.reused_tokens, 0);
    EXPECT_EQ(second.ledger_digest, alone.ledger_digest);
    EXPECT_EQ(second.conversation->sequence().state_bytes(),
              alone.conversation->sequence().state_bytes());
  }
}

TEST(Engine, AChangedTailIsCutBackAndAWindowThatMovedOnStartsOver) {
  for (const bool windowed : {false, true}) {
    const ToyTarget target({.window = windowed ? 5 : 0});
    Engine engine(target, nullptr, {}, {});
    Outcome first = engine.run(request(30)).value();
    std::vector<TokenId> changed = prompt();
    changed.insert(changed.end(), first.tokens.begin(), first.tokens.begin() + 8);
    changed.push_back((first.tokens[8] + 1) % 97);

    Request fresh = request(12);
    fresh.prompt = changed;
    const Outcome alone = engine.run(std::move(fresh)).value();
    Request reused = request(12);
    reused.prompt = changed;
    reused.conversation = std::move(first.conversation);
    const Outcome second = engine.run(std::move(reused)).value();
    EXPECT_EQ(second.stats.reused_tokens, windowed ? 0 : std::ssize(prompt()) + 8);
    EXPECT_EQ(second.ledger_digest, alone.ledger_digest);
  }
}

TEST(Engine, AConversationMadeWithoutDraftingIsReadAgainWhenDraftingNeedsIt) {
  const ToyTarget target;
  const OracleDrafter drafter({conversation(60)}, every_chain(3));
  Engine engine(target, &drafter, {}, {});
  Outcome first = engine.run(request(10, {.mode = DraftWidth::Mode::kOff})).value();
  EXPECT_EQ(first.conversation->draft(), nullptr);
  Request again = request(10, {.mode = DraftWidth::Mode::kFixed, .tokens = 3});
  again.conversation = std::move(first.conversation);
  const Outcome second = engine.run(std::move(again)).value();
  EXPECT_EQ(second.stats.reused_tokens, 0);
  EXPECT_EQ(second.ledger_digest, first.ledger_digest);
}

TEST(Engine, LogprobsComeWithTheTokenWhenAskedFor) {
  class Check final : public RequestListener {
   public:
    void on_token(const TokenEvent& t) override {
      ASSERT_NE(t.logprobs, nullptr);
      EXPECT_EQ(t.logprobs->top.size(), 2U);
      EXPECT_EQ(t.logprobs->top[0].id, t.id);
      EXPECT_FLOAT_EQ(t.logprobs->top[0].logprob, t.logprobs->chosen);
      ++seen;
    }
    int seen = 0;
  } check;
  const ToyTarget target;
  Engine engine(target, nullptr, {}, {});
  Request r = request(3);
  r.top_logprobs = 2;
  r.listener = &check;
  ASSERT_TRUE(engine.run(std::move(r)).ok());
  EXPECT_EQ(check.seen, 3);
}

}  // namespace
}  // namespace spindrift
