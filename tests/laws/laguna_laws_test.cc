// The engine's laws on the demo pair: a Laguna target (sliding layers see 128 positions) with its
// DFlash drafter and with scripted ones. Runs are compared by ledger, line by line, and by the
// bytes of the caches they leave.
#include <gtest/gtest.h>

#include <limits>

#include "core/thread_pool.h"
#include "drafters/scripted.h"
#include "engine/engine.h"
#include "kernels/registry.h"
#include "laws/demo_pair.h"
#include "support/ledger.h"

namespace spindrift {
namespace {

using spindrift::testing::demo;
using spindrift::testing::Recorded;
using spindrift::testing::Recorder;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max() / 2;
constexpr int64_t kWindow = 128;

struct Setting {
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  int64_t tokens = 32;
  int width = 0;  // draft tokens, 0 = plain
  int64_t chunk = kAll;
  bool mates = false;
};

Request request(const Setting& s) {
  Request r;
  r.prompt = s.prompt;
  r.sampling = s.sampling;
  r.stop = {.ids = {2, 24}, .ignore_eos = true, .max_new_tokens = s.tokens};
  r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = s.width, .nodes = s.width};
  r.ledger = true;
  return r;
}

class LagunaLaws : public ::testing::Test {
 protected:
  Recorded run(const Setting& s, const Drafter* drafter, const kernels::Table& table,
               ThreadPool* pool = nullptr) {
    Engine engine(*demo().target.model, drafter, {.pool = pool, .kernels = &table},
                  {.prefill_chunk = s.chunk});
    Recorder recorder;
    Request r = request(s);
    r.listener = &recorder;
    if (s.mates) {
      Setting other{.prompt = demo().long_prompt, .sampling = {.temperature = 1.0F, .seed = 8}};
      other.width = 5;
      other.tokens = 12;
      EXPECT_TRUE(engine.submit(request(other)).ok());
      for (int i = 0; i < 4; ++i) engine.step();
    }
    EXPECT_TRUE(engine.submit(std::move(r)).ok());
    for (int steps = 0; !recorder.run.finished; ++steps) {
      engine.step();
      if (s.mates && steps == 3) {
        EXPECT_TRUE(
            engine.submit(request({.prompt = demo().short_prompt, .sampling = {}, .tokens = 9}))
                .ok());
      }
    }
    EXPECT_EQ(recorder.run.outcome.reason, FinishReason::kLength);
    return std::move(recorder.run);
  }
  Recorded run(const Setting& s) { return run(s, demo().drafter.drafter.get(), best_); }
  const kernels::Table& best_ = kernels::table(kernels::usable_isas().back());
};

std::vector<Setting> settings() {
  std::vector<Setting> out;
  for (const auto& prompt : {demo().short_prompt, demo().long_prompt})
    for (const float temperature : {0.0F, 0.7F, 1.3F})
      for (const uint64_t seed : {uint64_t{0}, uint64_t{7}})
        if (temperature > 0 || seed == 0)
          out.push_back({.prompt = prompt, .sampling = {.temperature = temperature, .seed = seed}});
  return out;
}

void expect_same(const Recorded& found, const Recorded& expected, const std::string& what) {
  ASSERT_EQ(found.ledger, expected.ledger) << what;
  EXPECT_EQ(found.outcome.ledger_digest, expected.outcome.ledger_digest);
  EXPECT_TRUE(found.outcome.conversation->sequence().state_bytes() ==
              expected.outcome.conversation->sequence().state_bytes())
      << what << ": the caches differ";
}

TEST_F(LagunaLaws, EveryDraftWidthAtEveryTemperatureGivesThePlainLedger) {
  for (const Setting& plain_setting : settings()) {
    const Recorded plain = run(plain_setting);
    int64_t accepted = 0;
    for (int width = 1; width <= 11; ++width) {
      Setting s = plain_setting;
      s.width = width;
      const Recorded drafted = run(s);
      expect_same(drafted, plain, "width " + std::to_string(width));
      accepted += drafted.outcome.stats.draft.accepted;
    }
    EXPECT_GT(accepted, 0);
  }
}

TEST_F(LagunaLaws, PrefillChunksThreadsAndOtherConversationsChangeNothing) {
  ThreadPool pool(2);
  for (const Setting& base : settings()) {
    const Recorded plain = run(base);
    for (const int64_t chunk : {int64_t{1}, int64_t{7}, int64_t{64}, kAll}) {
      Setting s = base;
      s.width = 4;
      s.chunk = chunk;
      s.mates = chunk == 7;
      ThreadPool* threads = chunk == 64 || chunk == 7 ? &pool : nullptr;
      expect_same(run(s, demo().drafter.drafter.get(), best_, threads), plain,
                  "chunk " + std::to_string(chunk));
    }
    expect_same(run(base, nullptr, best_, &pool), plain, "plain on two threads");
  }
}

TEST_F(LagunaLaws, EveryInstructionSetOfThisMachineGivesTheSameLedger) {
  for (const auto& prompt : {demo().short_prompt, demo().long_prompt}) {
    Setting s{.prompt = prompt, .sampling = {.temperature = 0.7F, .seed = 3}, .tokens = 10};
    const Recorded plain = run(s);
    for (const kernels::Isa isa : kernels::usable_isas())
      for (const int width : {0, 11}) {
        s.width = width;
        const kernels::Table& table = kernels::table(isa);
        expect_same(run(s, demo().drafter.drafter.get(), table), plain, std::string(table.name));
      }
  }
}

TEST_F(LagunaLaws, GenerationThatWrapsTheWindowGivesThePlainLedger) {
  Setting s{.prompt = demo().short_prompt, .sampling = {.temperature = 0.7F, .seed = 5}};
  s.tokens = 2 * kWindow + 40;
  const Recorded plain = run(s);
  for (const int width : {1, 6, 11}) {
    s.width = width;
    expect_same(run(s), plain, "width " + std::to_string(width));
  }
}

// Hits and misses on purpose: a round accepts exactly as many tokens as the script says, at every
// depth, before, across and beyond the window's edge.
TEST_F(LagunaLaws, ARejectionAtEveryDepthLeavesTheLedgerAndTheCachesOfAPlainRun) {
  for (Setting s : settings()) {
    if (s.sampling.seed != 0) continue;
    s.tokens = 24;
    const Recorded plain = run(s);
    std::vector<TokenId> reference = s.prompt;
    reference.insert(reference.end(), plain.outcome.tokens.begin(), plain.outcome.tokens.end());
    for (int hits = 0; hits <= 11; ++hits) {
      const ScriptedDrafter drafter(demo().target.model->info().vocab, {reference},
                                    {scripted_chain(hits, 11)});
      s.width = 11;
      const Recorded drafted = run(s, &drafter, best_);
      expect_same(drafted, plain, std::to_string(hits) + " hits");
      EXPECT_EQ(drafted.accepted_emitted.front().first, hits);
    }
  }
}

TEST_F(LagunaLaws, ATurnThatContinuesOrChangesTheTailOfAConversationEqualsAFreshOne) {
  Engine engine(*demo().target.model, demo().drafter.drafter.get(),
                {.pool = nullptr, .kernels = &best_}, {});
  for (const size_t dropped : {size_t{0}, size_t{1}, size_t{3}}) {
    Setting s{.prompt = demo().short_prompt, .sampling = {.temperature = 0.7F, .seed = 6}};
    s.tokens = 60;
    s.width = 11;
    Outcome first = engine.run(request(s)).value();
    const Position kept = first.conversation->committed();
    s.prompt.insert(s.prompt.end(), first.tokens.begin(), first.tokens.end());
    s.prompt.resize(s.prompt.size() - dropped);
    s.prompt.insert(s.prompt.end(), {23, 400, 470, 268, 397, 699});
    const Outcome fresh = engine.run(request(s)).value();
    Request next = request(s);
    next.conversation = std::move(first.conversation);
    const Outcome second = engine.run(std::move(next)).value();
    const Position after_cut =
        std::ssize(demo().short_prompt) + 60 - static_cast<Position>(dropped);
    EXPECT_EQ(second.stats.reused_tokens, std::min(kept, after_cut));
    EXPECT_EQ(second.ledger_digest, fresh.ledger_digest);
    EXPECT_EQ(second.stats.draft.accepted, fresh.stats.draft.accepted);
    EXPECT_TRUE(second.conversation->sequence().state_bytes() ==
                fresh.conversation->sequence().state_bytes());
  }
}

TEST_F(LagunaLaws, TreesWithTheRightTokenOnAnyBranchGiveThePlainLedger) {
  // Three children of the bonus, each with two children; the hit moves from branch to branch.
  std::vector<ScriptedRound> rounds;
  for (int right = 0; right < 9; ++right) {
    ScriptedRound round;
    for (int i = 0; i < 3; ++i) round.push_back({.parent = kRoot, .hit = i == right / 3});
    for (int i = 0; i < 6; ++i)
      round.push_back({.parent = i / 2, .hit = i / 2 == right / 3 && i % 2 == right % 2});
    rounds.push_back(round);
  }
  for (Setting s : settings()) {
    const Recorded plain = run(s);
    std::vector<TokenId> reference = s.prompt;
    reference.insert(reference.end(), plain.outcome.tokens.begin(), plain.outcome.tokens.end());
    const ScriptedDrafter drafter(demo().target.model->info().vocab, {reference}, rounds);
    s.width = 9;
    const Recorded drafted = run(s, &drafter, best_);
    expect_same(drafted, plain, "tree");
    EXPECT_EQ(drafted.accepted_emitted.front().first, 2);
  }
}

}  // namespace
}  // namespace spindrift
