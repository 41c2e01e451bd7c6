// The engine's laws on bases with MLPSpeculator heads: chains and trees of every kind leave the
// ledger and the caches of a plain run.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "core/thread_pool.h"
#include "drafters/registry.h"
#include "drafters/scripted.h"
#include "engine/engine.h"
#include "io/json_config.h"
#include "kernels/registry.h"
#include "models/registry.h"
#include "support/ledger.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

using spindrift::testing::Recorded;
using spindrift::testing::Recorder;

constexpr int kDeep = 99;
constexpr int64_t kAll = std::numeric_limits<int64_t>::max() / 2;

// Names of model folders.
struct Case {
  const char* base;
  const char* head;
};

struct Setting {
  std::vector<TokenId> prompt;
  float temperature = 0.0F;
  int width = 0;  // draft nodes, 0 = plain
  int depth = kDeep;
  int64_t chunk = kAll;
  bool mates = false;
};

class GraniteLaws : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    SPINDRIFT_MODEL_OR_SKIP(base, GetParam().base);
    SPINDRIFT_MODEL_OR_SKIP(head, GetParam().head);
    head_ = head;
    target_ = load_target(base, {}).value();
    const auto ids =
        JsonObject::parse_file(head_ / "golden" / "golden.json").value().get_ints("ids").value();
    short_.assign(ids.begin(), ids.begin() + 19);
    long_.assign(ids.begin(), ids.begin() + 100);
    head_drafter_ = load({});
  }

  LoadedDrafter load(const MlpSpeculatorOptions& options) {
    return load_drafter(head_, kAutoDraftKind, *target_.model,
                        {.family = target_.family, .info = target_.model->info()}, options)
        .value();
  }

  Request request(const Setting& s, int64_t tokens) {
    Request r;
    r.prompt = s.prompt;
    r.sampling = {.temperature = s.temperature, .seed = 7};
    r.stop = {.ids = {0}, .ignore_eos = true, .max_new_tokens = tokens};
    r.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = s.depth, .nodes = s.width};
    r.ledger = true;
    return r;
  }

  Recorded run(const Setting& s, const Drafter* drafter, ThreadPool* pool = nullptr,
               const kernels::Table* table = nullptr) {
    Engine engine(*target_.model, drafter,
                  {.pool = pool, .kernels = table == nullptr ? &best_ : table},
                  {.prefill_chunk = s.chunk});
    Recorder recorder;
    Request r = request(s, 24);
    r.listener = &recorder;
    if (s.mates) {
      Setting other{.prompt = long_, .temperature = 1.0F};
      other.width = 11;
      EXPECT_TRUE(engine.submit(request(other, 12)).ok());
      for (int i = 0; i < 3; ++i) engine.step();
    }
    EXPECT_TRUE(engine.submit(std::move(r)).ok());
    while (!recorder.run.finished) engine.step();
    return std::move(recorder.run);
  }

  std::vector<Setting> settings() const {
    std::vector<Setting> out;
    for (const auto& prompt : {short_, long_})
      for (const float temperature : {0.0F, 0.8F, 1.3F})
        out.push_back({.prompt = prompt, .temperature = temperature});
    return out;
  }

  std::filesystem::path head_;
  LoadedTarget target_;
  LoadedDrafter head_drafter_;
  std::vector<TokenId> short_, long_;
  const kernels::Table& best_ = kernels::table(kernels::usable_isas().back());
};

void expect_same(const Recorded& found, const Recorded& expected, const std::string& what) {
  ASSERT_EQ(found.ledger, expected.ledger) << what;
  EXPECT_EQ(found.outcome.ledger_digest, expected.outcome.ledger_digest);
  EXPECT_TRUE(found.outcome.conversation->sequence().state_bytes() ==
              expected.outcome.conversation->sequence().state_bytes())
      << what << ": the caches differ";
}

TEST_P(GraniteLaws, ChainsAndTreesOfEveryWidthGiveThePlainLedgerAndCaches) {
  const Drafter& drafter = *head_drafter_.drafter;
  for (const Setting& plain_setting : settings()) {
    const Recorded plain = run(plain_setting, nullptr);
    for (int width = 1; width <= drafter.max_nodes(); width += width < 6 ? 1 : 3) {
      Setting s = plain_setting;
      s.width = width;
      expect_same(run(s, &drafter), plain, "width " + std::to_string(width));
    }
    for (int depth = 1; depth < drafter.max_depth(); ++depth) {
      Setting s = plain_setting;
      s.width = drafter.max_nodes();
      s.depth = depth;
      const Recorded tree = run(s, &drafter);
      expect_same(tree, plain, "depth " + std::to_string(depth));
      EXPECT_EQ(std::ssize(tree.outcome.stats.draft.drafted_to_depth), depth);
    }
  }
}

TEST_P(GraniteLaws, EveryTopKAndNumberOfCandidatesGivesThePlainLedgerAndCaches) {
  const auto stages = static_cast<size_t>(
      JsonObject::parse_file(head_ / "config.json").value().get_int("n_predict").value());
  std::vector<int> wide(stages, 2), narrow(stages, 1);
  wide[0] = 6;
  narrow[0] = 8;
  const std::vector<MlpSpeculatorOptions> choices = {{.top_k = wide, .candidates = 16},
                                                     {.top_k = narrow, .candidates = 8},
                                                     {.top_k = {}, .candidates = 1},
                                                     {.top_k = {}, .candidates = 2},
                                                     {.top_k = {}, .candidates = 24}};
  for (const MlpSpeculatorOptions& choice : choices) {
    const LoadedDrafter loaded = load(choice);
    for (const float temperature : {0.0F, 1.3F}) {
      Setting s{.prompt = short_, .temperature = temperature};
      const Recorded plain = run(s, nullptr);
      s.width = loaded.drafter->max_nodes();
      expect_same(run(s, loaded.drafter.get()), plain, std::to_string(*choice.candidates));
    }
  }
}

TEST_P(GraniteLaws, ChunksThreadsInstructionSetsAndOtherConversationsChangeNothing) {
  ThreadPool pool(2);
  const Drafter& drafter = *head_drafter_.drafter;
  for (const Setting& base : settings()) {
    const Recorded plain = run(base, nullptr);
    Setting s = base;
    s.width = drafter.max_nodes();
    for (const int64_t chunk : {int64_t{1}, int64_t{7}, int64_t{64}}) {
      s.chunk = chunk;
      s.mates = chunk == 7;
      expect_same(run(s, &drafter, chunk == 1 ? nullptr : &pool), plain,
                  "chunk " + std::to_string(chunk));
    }
    if (base.temperature != 0.8F || base.prompt != short_) continue;
    for (const kernels::Isa isa : kernels::usable_isas())
      expect_same(run(s, &drafter, nullptr, &kernels::table(isa)), plain, "instruction set");
  }
}

TEST_P(GraniteLaws, ARejectionAtEveryDepthAndOnEveryBranchLeavesTheCachesOfAPlainRun) {
  std::vector<std::vector<ScriptedRound>> scripts;
  for (int hits = 0; hits <= 5; ++hits) scripts.push_back({scripted_chain(hits, 5)});
  std::vector<ScriptedRound> branches;
  for (int right = 0; right < 9; ++right) {
    ScriptedRound round;
    for (int i = 0; i < 3; ++i) round.push_back({.parent = kRoot, .hit = i == right / 3});
    for (int i = 0; i < 6; ++i)
      round.push_back({.parent = i / 2, .hit = i / 2 == right / 3 && i % 2 == right % 2});
    branches.push_back(round);
  }
  scripts.push_back(branches);
  for (Setting s : settings()) {
    const Recorded plain = run(s, nullptr);
    std::vector<TokenId> reference = s.prompt;
    reference.insert(reference.end(), plain.outcome.tokens.begin(), plain.outcome.tokens.end());
    for (const auto& script : scripts) {
      const ScriptedDrafter drafter(target_.model->info().vocab, {reference}, script);
      s.width = drafter.max_nodes();
      expect_same(run(s, &drafter), plain, std::to_string(s.width));
    }
  }
}

TEST_P(GraniteLaws, ATurnThatChangesTheTailOfAConversationEqualsAFreshOne) {
  Engine engine(*target_.model, head_drafter_.drafter.get(), {.pool = nullptr, .kernels = &best_},
                {});
  Setting s{.prompt = short_, .temperature = 0.8F};
  s.width = head_drafter_.drafter->max_nodes();
  for (const size_t dropped : {size_t{0}, size_t{2}}) {
    Outcome first = engine.run(request(s, 20)).value();
    Setting longer = s;
    longer.prompt.insert(longer.prompt.end(), first.tokens.begin(), first.tokens.end());
    longer.prompt.resize(longer.prompt.size() - dropped);
    longer.prompt.insert(longer.prompt.end(), long_.end() - 3, long_.end());
    const Outcome fresh = engine.run(request(longer, 20)).value();
    Request next = request(longer, 20);
    next.conversation = std::move(first.conversation);
    const Outcome second = engine.run(std::move(next)).value();
    EXPECT_GT(second.stats.reused_tokens, std::ssize(short_));
    EXPECT_EQ(second.ledger_digest, fresh.ledger_digest);
    EXPECT_EQ(second.stats.draft.accepted, fresh.stats.draft.accepted);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, GraniteLaws,
    ::testing::Values(Case{"granite-tiny", "granite-tiny-accelerator"},
                      Case{"bases/bigcode-gelu", "bases/bigcode-gelu-accelerator"},
                      Case{"bases/llama-head80", "bases/llama-head80-accelerator"},
                      Case{"bases/llama2-linear", "bases/llama2-linear-accelerator"},
                      Case{"bases/llama3-rope", "bases/llama3-rope-arctic"},
                      Case{"gptbigcode-random", "gptbigcode-random-accelerator"},
                      Case{"llama-biased-random", "llama-biased-random-accelerator"}),
    [](const auto& instance) {
      std::string name = instance.param.base;
      for (char& c : name)
        if (c == '-' || c == '/') c = '_';
      return name;
    });

}  // namespace
}  // namespace spindrift
