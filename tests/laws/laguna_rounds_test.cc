// Rounds of the demo pair against those that a PyTorch drafter recorded on the same target: the ids
// drafted, how many the target accepted, how many tokens a stop or the limit left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine.h"
#include "io/json_config.h"
#include "kernels/registry.h"
#include "kernels/twins.h"
#include "laws/demo_pair.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

using spindrift::testing::demo;

// Below this difference between the best two logits, float32 rounding may choose otherwise.
constexpr double kMargin = 2e-3;

struct Round {
  int64_t position = 0, bonus = 0, accepted = 0, emitted = 0;
  std::vector<int64_t> draft;
  friend bool operator==(const Round&, const Round&) = default;
};

class Rounds final : public RequestListener {
 public:
  void on_round(const RoundRecord& r) override {
    seen.push_back({.position = r.position,
                    .bonus = r.bonus,
                    .accepted = r.accepted,
                    .emitted = r.emitted,
                    .draft = {r.draft.begin(), r.draft.end()}});
  }
  std::vector<Round> seen;
};

double smallest_margin(const JsonObject& round) {
  const auto margins = round.get_numbers("draft_margins").value();
  return std::min(*std::min_element(margins.begin(), margins.end()),
                  round.get_number("verify_margin").value());
}

// Runs every reference conversation of `key`; returns the mean accepted over all its rounds.
double expect_reference_rounds(std::string_view key, bool ignore_eos) {
  const JsonObject golden =
      JsonObject::parse_file(testing::repo_dir() / "models/laguna-tiny-dflash/golden/golden.json")
          .value();
  int64_t rounds = 0;
  int64_t accepted = 0;
  int64_t compared = 0;
  for (const JsonObject& reference : golden.get_objects(key).value()) {
    const auto prompt = reference.get_ints("prompt_ids").value();
    Rounds listener;
    Request r;
    r.prompt = {prompt.begin(), prompt.end()};
    r.stop = {.ids = {2, 24}, .ignore_eos = ignore_eos, .max_new_tokens = 96};
    r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = 11};
    r.listener = &listener;
    Engine engine(*demo().target.model, demo().drafter.drafter.get(),
                  {.pool = nullptr, .kernels = &kernels::table(kernels::usable_isas().back())}, {});
    const Outcome out = engine.run(std::move(r)).value();
    rounds += out.stats.draft.rounds;
    accepted += out.stats.draft.accepted;

    bool whole = true;
    const auto recorded = reference.get_objects("rounds").value();
    for (size_t i = 0; i < recorded.size() && whole; ++i) {
      const JsonObject& expected = recorded[i];
      whole = smallest_margin(expected) >= kMargin;
      if (!whole) break;
      const Round want{.position = expected.get_int("position").value(),
                       .bonus = expected.get_int("bonus").value(),
                       .accepted = expected.get_int("accepted").value(),
                       .emitted = expected.get_int("emitted").value(),
                       .draft = expected.get_ints("draft").value()};
      EXPECT_LT(i, listener.seen.size());
      if (i >= listener.seen.size()) break;
      EXPECT_EQ(listener.seen[i], want) << key << " round " << i;
      ++compared;
    }
    if (whole) {
      EXPECT_EQ(std::vector<int64_t>(out.tokens.begin(), out.tokens.end()),
                reference.get_ints("ids").value());
    }
  }
  EXPECT_GT(compared, rounds / 2);
  return DraftStats::share(accepted, rounds);
}

TEST(LagunaRounds, OfTheLittleLanguageEqualTheReferenceAndAcceptMoreThanEight) {
  EXPECT_GT(expect_reference_rounds("greedy_rounds", false), 8.0);
}

TEST(LagunaRounds, OfForeignPromptsEqualTheReferenceThoughMostDraftsMiss) {
  expect_reference_rounds("greedy_rounds_foreign", true);
}

// A drafter may run on kernels that round otherwise (a matrix unit): drafts change, tokens and the
// bits of their logits don't.
TEST(LagunaRounds, KernelsThatRoundOtherwiseForTheDrafterReachNoToken) {
  const kernels::Table& exact = kernels::table(kernels::usable_isas().back());
  kernels::Table rounded = exact;
  rounded.linear_bf16 = kernels::twin::linear_bf16_tiles;
  const auto prompt =
      JsonObject::parse_file(testing::repo_dir() / "models/laguna-tiny-dflash/golden/golden.json")
          .value()
          .get_objects("greedy_rounds")
          .value()
          .front()
          .get_ints("prompt_ids")
          .value();
  for (const float temperature : {0.0F, 0.9F}) {
    const auto run = [&](const kernels::Table* draft_kernels, int draft_tokens) {
      Request r;
      r.prompt = {prompt.begin(), prompt.end()};
      r.sampling.temperature = temperature;
      r.stop = {.ignore_eos = true, .max_new_tokens = 48};
      r.ledger = true;
      r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = draft_tokens};
      Engine engine(*demo().target.model, demo().drafter.drafter.get(),
                    {.pool = nullptr, .kernels = &exact, .draft_kernels = draft_kernels}, {});
      return engine.run(std::move(r)).value();
    };
    const Outcome plain = run(nullptr, 0);
    const Outcome drafted = run(&rounded, 11);
    EXPECT_EQ(drafted.tokens, plain.tokens);
    EXPECT_EQ(drafted.ledger_digest, plain.ledger_digest);
    EXPECT_GT(drafted.stats.draft.accepted, 0);
  }
}

}  // namespace
}  // namespace spindrift
