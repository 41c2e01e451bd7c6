// The engine's laws on the toy target: a request's ledger depends on its prompt and sampling
// settings alone. Runs are compared line by line, and the caches they leave byte by byte.
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/thread_pool.h"
#include "engine/engine.h"
#include "support/ledger.h"
#include "support/oracle_drafter.h"
#include "support/toy_target.h"

namespace spindrift {
namespace {

using spindrift::testing::chain_pattern;
using spindrift::testing::every_chain;
using spindrift::testing::OracleDrafter;
using spindrift::testing::Recorded;
using spindrift::testing::Recorder;
using spindrift::testing::rotating_tree;
using spindrift::testing::ToyTarget;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max() / 2;
constexpr int kMaxNodes = 12;

std::vector<TokenId> prompt() {
  std::vector<TokenId> ids;
  for (TokenId i = 0; i < 23; ++i) ids.push_back((i * i + 7 * i + 2) % 97);
  return ids;
}

struct Setting {
  SamplingParams sampling;
  int64_t tokens = 48;
  int64_t chunk = kAll;
  bool mates = false;
  bool dropped = false;  // preempted and replayed, twice
};

Request request(const Setting& s, RequestListener* listener) {
  Request r;
  r.prompt = prompt();
  r.sampling = s.sampling;
  r.stop.max_new_tokens = s.tokens;
  r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = kMaxNodes, .nodes = kMaxNodes};
  r.ledger = true;
  r.listener = listener;
  return r;
}

Request mate(TokenId first, int64_t tokens) {
  Request r;
  r.prompt = {first, 5, 8, 13, 21, 34, 55, 89};
  r.sampling = {.temperature = 1.0F, .seed = 99};
  r.stop.max_new_tokens = tokens;
  r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = 3};
  return r;
}

// Runs the request; with `mates`, others are there before it, join later, end early and are
// cancelled.
Recorded run(const TargetModel& target, const Drafter* drafter, const Exec& ex, const Setting& s) {
  Engine engine(target, drafter, ex, {.prefill_chunk = s.chunk});
  Recorder recorder;
  std::atomic<bool> gone{false};
  if (s.mates) {
    EXPECT_TRUE(engine.submit(mate(90, 300)).ok());
    for (int i = 0; i < 4; ++i) engine.step();
    Request leaves = mate(91, 300);
    leaves.cancelled = &gone;
    EXPECT_TRUE(engine.submit(std::move(leaves)).ok());
  }
  const RequestId id = engine.submit(request(s, &recorder)).value();
  for (int steps = 1; !recorder.run.finished; ++steps) {
    engine.step();
    if (s.mates && steps == 5) {
      EXPECT_TRUE(engine.submit(mate(92, 7)).ok());
    }
    if (s.mates && steps == 9) gone = true;
    if (s.dropped && (steps == 3 || steps == 12)) engine.preempt(id);
  }
  return std::move(recorder.run);
}

std::vector<TokenId> conversation(const Recorded& plain) {
  std::vector<TokenId> ids = prompt();
  ids.insert(ids.end(), plain.outcome.tokens.begin(), plain.outcome.tokens.end());
  return ids;
}

// The conversation and its mates', so that scripts hit for all of them.
std::vector<ReferenceIds> known(const TargetModel& target, const Recorded& plain) {
  std::vector<ReferenceIds> out = {conversation(plain)};
  for (const TokenId first : {90, 91, 92}) {
    Engine engine(target, nullptr, {}, {});
    Request request = mate(first, 100);
    out.push_back(request.prompt);
    const Outcome outcome = engine.run(std::move(request)).value();
    out.back().insert(out.back().end(), outcome.tokens.begin(), outcome.tokens.end());
  }
  return out;
}

std::vector<std::pair<std::string, std::vector<ScriptedRound>>> scripts() {
  std::vector<std::pair<std::string, std::vector<ScriptedRound>>> out;
  out.emplace_back("every pattern of four in turn", every_chain(4));
  out.emplace_back("rotating tree", rotating_tree(4, 3));
  out.emplace_back("always right", chain_pattern(~0U, kMaxNodes));
  out.emplace_back("always wrong", chain_pattern(0, kMaxNodes));
  return out;
}

class ToyLaws : public ::testing::TestWithParam<Position> {
 protected:
  ToyTarget target_{{.window = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Caches, ToyLaws, ::testing::Values(0, 9), [](const auto& param) {
  return param.param == 0 ? std::string("Full") : std::string("Window");
});

TEST_P(ToyLaws, LedgersAreTheSameWhateverTheDrafterChunkBatchAndThreads) {
  ThreadPool pool(3);
  int runs = 0;
  for (const float temperature : {0.0F, 0.7F, 0.8F, 1.3F, 1.5F}) {
    Setting base;
    base.sampling = {.temperature = temperature,
                     .seed = 11 + static_cast<uint64_t>(10 * temperature)};
    const Recorded plain = run(target_, nullptr, {}, base);
    ASSERT_EQ(plain.ledger.size(), 48U);
    const std::vector<ReferenceIds> references = known(target_, plain);
    auto drafters = scripts();
    drafters.emplace_back("none", std::vector<ScriptedRound>{});
    for (const auto& [label, script] : drafters) {
      std::optional<OracleDrafter> oracle;
      if (!script.empty()) oracle.emplace(references, script);
      const Drafter* drafter = oracle ? &*oracle : nullptr;
      for (const int64_t chunk : {int64_t{1}, int64_t{5}, int64_t{7}, kAll})
        for (const bool mates : {false, true})
          for (ThreadPool* threads : {static_cast<ThreadPool*>(nullptr), &pool}) {
            if (threads != nullptr && chunk != 5 && chunk != kAll) continue;
            Setting s = base;
            s.chunk = chunk;
            s.mates = mates;
            s.dropped = chunk == 5;
            const Recorded other = run(target_, drafter, {.pool = threads}, s);
            ASSERT_EQ(other.ledger, plain.ledger) << label << " temperature " << temperature
                                                  << " chunk " << chunk << " mates " << mates;
            EXPECT_EQ(other.outcome.ledger_digest, plain.outcome.ledger_digest);
            EXPECT_EQ(other.outcome.conversation->sequence().state_bytes(),
                      plain.outcome.conversation->sequence().state_bytes());
            ++runs;
          }
    }
  }
  EXPECT_EQ(runs, 5 * 5 * 2 * (4 + 2));
}

TEST_P(ToyLaws, EveryPatternOfHitsAndMissesInOneRoundLeavesTheLedgerAlone) {
  for (const float temperature : {0.0F, 0.9F}) {
    const Setting s{.sampling = {.temperature = temperature, .seed = 4}, .tokens = 14};
    const Recorded plain = run(target_, nullptr, {}, s);
    for (uint32_t pattern = 0; pattern < 256; ++pattern) {
      const OracleDrafter drafter({conversation(plain)}, chain_pattern(pattern, 8));
      ASSERT_EQ(run(target_, &drafter, {}, s).ledger, plain.ledger) << pattern;
    }
  }
}

TEST_P(ToyLaws, ARejectionAtAnyDepthLeavesNoTraceInTheCaches) {
  for (int64_t tokens = 2; tokens < 30; tokens += 3) {
    const Setting s{.sampling = {.temperature = 0.8F, .seed = 1}, .tokens = tokens};
    const Recorded plain = run(target_, nullptr, {}, s);
    for (unsigned hits = 0; hits <= 8; ++hits) {
      const OracleDrafter drafter({conversation(plain)}, chain_pattern((1U << hits) - 1U, 8));
      const Recorded other = run(target_, &drafter, {}, s);
      EXPECT_EQ(other.outcome.conversation->committed(), plain.outcome.conversation->committed());
      EXPECT_EQ(other.outcome.conversation->sequence().state_bytes(),
                plain.outcome.conversation->sequence().state_bytes())
          << hits << " hits, " << tokens << " tokens";
    }
  }
}

TEST_P(ToyLaws, TheDrafterSeesTheSameTapRowsHoweverTheyWereComputed) {
  const Setting s{.sampling = {.temperature = 1.0F, .seed = 2}};
  const Recorded plain = run(target_, nullptr, {}, s);
  const std::vector<ReferenceIds> references = known(target_, plain);
  std::vector<std::vector<uint64_t>> seen;
  for (const auto& [label, script] : scripts())
    for (const int64_t chunk : {int64_t{1}, int64_t{7}, kAll}) {
      const OracleDrafter drafter(references, script);
      Setting chunked = s;
      chunked.chunk = chunk;
      chunked.mates = chunk == 7;
      const Recorded other = run(target_, &drafter, {}, chunked);
      auto* state = static_cast<OracleDrafter::State*>(other.outcome.conversation->draft());
      EXPECT_EQ(state->ids, other.outcome.conversation->tokens()) << label;
      seen.push_back(state->tap_hashes);
    }
  for (const auto& hashes : seen) EXPECT_EQ(hashes, seen.front());
}

// The control: the same comparison must fail on a target whose rows depend on their batch.
TEST_P(ToyLaws, ATargetThatBreaksTheRowLawIsCaughtByItsLedger) {
  const ToyTarget broken({.window = GetParam(), .breaks_row_law = true});
  int caught = 0;
  int same_tokens = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Setting s{.sampling = {.temperature = 0.8F, .seed = seed}};
    const Recorded plain = run(broken, nullptr, {}, s);
    const OracleDrafter drafter({conversation(plain)}, every_chain(4));
    const Recorded drafted = run(broken, &drafter, {}, s);
    caught += drafted.ledger != plain.ledger ? 1 : 0;
    same_tokens += drafted.outcome.tokens == plain.outcome.tokens ? 1 : 0;
  }
  EXPECT_EQ(caught, 8);
  // A comparison of tokens alone would have missed it.
  EXPECT_GT(same_tokens, 0);
}

}  // namespace
}  // namespace spindrift
