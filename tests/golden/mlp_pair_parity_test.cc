// Heads on the bases they were made for, against the plain PyTorch reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "core/thread_pool.h"
#include "drafters/argmax.h"
#include "drafters/mlp_speculator/drafter.h"
#include "drafters/mlp_speculator/state.h"
#include "drafters/registry.h"
#include "engine/engine.h"
#include "golden/mlp_golden.h"
#include "kernels/registry.h"
#include "models/registry.h"
#include "support/npy_reader.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

using mlp_speculator::Candidate;
using mlp_speculator::MlpSpeculatorDrafter;
using testing::MlpCandidate;
using testing::MlpPairGolden;
using testing::MlpRound;
using testing::MlpRun;

constexpr double kRowTolerance = 1e-3;    // of a base's hidden value
constexpr double kScoreTolerance = 1e-4;  // of a candidate's score
constexpr double kDecidedMargin = 2e-3;   // above it rounding cannot change the best token

// Names of model folders. `shared`: the head is not the repository's of that name.
struct Case {
  const char* base;
  const char* head;
  bool shared = false;
};

class MlpPair : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    SPINDRIFT_MODEL_OR_SKIP(folder, GetParam().head);
    head_ = folder;
    if (GetParam().shared) {
      SPINDRIFT_SHARED_OR_SKIP(shared, std::filesystem::path("models") / GetParam().head);
      head_ = shared;
    }
    SPINDRIFT_MODEL_OR_SKIP(base, GetParam().base);
    auto target = load_target(base, {});
    ASSERT_TRUE(target.ok()) << target.error().message;
    target_ = std::move(target).value();
    loaded_ = load({});
    EXPECT_TRUE(loaded_.warnings.empty());
    golden_ = MlpPairGolden::read(head_ / "golden");
  }

  LoadedDrafter load(const MlpSpeculatorOptions& options) {
    auto loaded = load_drafter(head_, kAutoDraftKind, model(),
                               {.family = target_.family, .info = model().info()}, options);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return std::move(loaded).value();
  }
  const TargetModel& model() const { return *target_.model; }
  const MlpSpeculatorDrafter& drafter() const {
    return dynamic_cast<const MlpSpeculatorDrafter&>(*loaded_.drafter);
  }

  std::vector<Candidate> candidates(std::span<const float> row, TokenId token,
                                    std::span<const int> top_k, int keep) {
    const mlp_speculator::SpreadRoot root{.token = token, .top_k = top_k};
    const ConstRows hidden(row.data(), 1, std::ssize(row));
    return best_candidates(spread(drafter().model(), hidden, std::span(&root, 1),
                                  mlp_speculator::PickValue::kLogProbability, draft_ws_, ex_)[0],
                           keep);
  }

  // A conversation that a test drives round by round.
  struct Talk {
    std::unique_ptr<Sequence> seq;
    std::unique_ptr<DraftState> state;
    std::span<const float> row() const {
      return static_cast<const mlp_speculator::State&>(*state).row();
    }
  };
  Talk open() const { return {model().open(), drafter().open()}; }
  ForwardResult forward(Talk& talk, std::span<const TokenId> tokens,
                        std::span<const RowIndex> parents) {
    const SeqRows rows{
        .seq = talk.seq.get(), .tokens = tokens, .parents = parents, .logits = LogitRows::kAll};
    return model().forward(std::span(&rows, 1), {.taps = drafter().taps()}, ws_, ex_);
  }
  void commit(Talk& talk, std::span<const TokenId> tokens, std::span<const RowIndex> path,
              const ForwardResult& result) {
    talk.seq->commit(path);
    for (const RowIndex row : path) {
      const ConstRows tap = result.taps[0].slice(row, 1);
      drafter().observe(*talk.state,
                        {.first = talk.state->observed(),
                         .tokens = tokens.subspan(static_cast<size_t>(row), 1),
                         .taps = std::span(&tap, 1)},
                        draft_ws_, ex_);
    }
  }
  TokenId start(Talk& talk, std::span<const TokenId> prompt) {
    const ForwardResult result = forward(talk, prompt, {});
    std::vector<RowIndex> path(prompt.size());
    std::iota(path.begin(), path.end(), 0);
    const TokenId bonus = argmax(result.logits.row(path.back()));
    commit(talk, prompt, path, result);
    return bonus;
  }
  void replay_chain(const MlpRun& run);
  void replay_tree(const MlpRun& run);

  std::filesystem::path head_;
  LoadedTarget target_;
  LoadedDrafter loaded_;
  MlpPairGolden golden_;
  ThreadPool pool_{2};
  Exec ex_{.pool = &pool_, .kernels = &kernels::table(kernels::default_isa().value())};
  Workspace ws_, draft_ws_;
};

class MlpRows : public MlpPair {};
class MlpRounds : public MlpPair {};

void expect_candidates(const std::vector<Candidate>& found,
                       const std::vector<MlpCandidate>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  const auto close = [&](size_t a, size_t b) {
    return std::fabs(expected[a].score - expected[b].score) < kScoreTolerance;
  };
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i].score, expected[i].score, kScoreTolerance) << "place " << i;
    const bool tie = (i > 0 && close(i, i - 1)) || (i + 1 < expected.size() && close(i, i + 1));
    if (tie) continue;
    EXPECT_EQ(found[i].ids, expected[i].ids) << "place " << i;
  }
}

TEST_P(MlpRows, ChainsAndCandidatesAfterTheBasesRowsAreTheReferences) {
  const auto rows = testing::read_npy(head_ / "golden" / "rows.npy").value();
  Talk talk = open();
  const ForwardResult result = forward(talk, golden_.ids, {});
  for (size_t i = 0; i < golden_.positions.size(); ++i) {
    const testing::MlpPosition& at = golden_.positions[i];
    SCOPED_TRACE("position " + std::to_string(at.position));
    const std::span<const float> stored(rows.row(static_cast<int64_t>(i)),
                                        static_cast<size_t>(rows.cols()));
    const std::span<const float> own = result.taps[0].row(at.position);
    ASSERT_EQ(stored.size(), own.size());
    for (size_t c = 0; c < own.size(); ++c) EXPECT_NEAR(own[c], stored[c], kRowTolerance);

    const auto& config = drafter().model().config;
    expect_candidates(candidates(stored, at.token, config.top_k, config.candidates), at.candidates);
    expect_candidates(
        candidates(stored, at.token, at.wide_top_k, static_cast<int>(std::ssize(at.wide))),
        at.wide);

    const auto state = drafter().open();
    const ConstRows tap = result.taps[0].slice(0, at.position + 1);
    drafter().observe(*state,
                      {.first = 0,
                       .tokens = std::span(golden_.ids).first(static_cast<size_t>(at.position + 1)),
                       .taps = std::span(&tap, 1)},
                      draft_ws_, ex_);
    DraftTree tree;
    const DraftCall call{
        .state = state.get(), .bonus = at.token, .max_nodes = config.stages, .out = &tree};
    drafter().propose(std::span(&call, 1), draft_ws_, ex_);
    if (*std::min_element(at.margins.begin(), at.margins.end()) >= kDecidedMargin) {
      EXPECT_EQ(tree.tokens, at.chain);
    }
  }
}

void MlpPair::replay_chain(const MlpRun& run) {
  Talk talk = open();
  TokenId bonus = start(talk, run.prompt_ids);
  std::vector<TokenId> emitted = {bonus};
  for (const MlpRound& round : run.rounds) {
    SCOPED_TRACE("round at " + std::to_string(round.position));
    ASSERT_EQ(talk.seq->committed(), round.position);
    ASSERT_EQ(bonus, round.bonus);
    DraftTree tree;
    const DraftCall call{.state = talk.state.get(),
                         .bonus = bonus,
                         .max_nodes = drafter().model().config.stages,
                         .out = &tree};
    drafter().propose(std::span(&call, 1), draft_ws_, ex_);
    ASSERT_EQ(tree.tokens, round.draft);
    std::vector<TokenId> tokens = {bonus};
    tokens.insert(tokens.end(), tree.tokens.begin(), tree.tokens.end());
    const ForwardResult result = forward(talk, tokens, {});
    std::vector<RowIndex> path = {0};
    for (;;) {
      bonus = argmax(result.logits.row(path.back()));
      if (std::ssize(path) <= round.emitted) emitted.push_back(bonus);
      const auto next = static_cast<size_t>(path.back()) + 1;
      if (next == tokens.size() || tokens[next] != bonus) break;
      path.push_back(static_cast<RowIndex>(next));
    }
    ASSERT_EQ(std::ssize(path) - 1, round.accepted);
    commit(talk, tokens, path, result);
  }
  EXPECT_EQ(emitted, run.ids);
}

// The published rule: the most accepted of the kept candidates, the best scored of those.
void MlpPair::replay_tree(const MlpRun& run) {
  const auto& config = drafter().model().config;
  Talk talk = open();
  TokenId bonus = start(talk, run.prompt_ids);
  std::vector<TokenId> emitted = {bonus};
  for (const MlpRound& round : run.rounds) {
    SCOPED_TRACE("round at " + std::to_string(round.position));
    ASSERT_EQ(talk.seq->committed(), round.position);
    ASSERT_EQ(bonus, round.bonus);
    const auto list = candidates(talk.row(), bonus, config.top_k, config.candidates);
    ASSERT_EQ(list.size(), round.candidates.size());
    std::vector<std::vector<TokenId>> found;
    for (const Candidate& candidate : list) found.push_back(candidate.ids);
    EXPECT_EQ(found, round.candidates);

    DraftTree tree;
    merge_paths({}, list, 1000, tree);
    std::vector<TokenId> tokens = {bonus};
    std::vector<RowIndex> parents = {kRoot};
    for (size_t i = 0; i < tree.tokens.size(); ++i) {
      tokens.push_back(tree.tokens[i]);
      parents.push_back(tree.parents[i] + 1);
    }
    const ForwardResult result = forward(talk, tokens, parents);
    std::vector<RowIndex> path = {0};
    std::vector<TokenId> choice;
    for (bool stepped = true; stepped;) {
      choice.push_back(argmax(result.logits.row(path.back())));
      stepped = false;
      for (size_t row = 1; row < tokens.size() && !stepped; ++row) {
        if (parents[row] != path.back() || tokens[row] != choice.back()) continue;
        path.push_back(static_cast<RowIndex>(row));
        stepped = true;
      }
    }
    ASSERT_EQ(std::ssize(path) - 1, round.accepted);
    const auto& chosen = list[round.chosen].ids;
    EXPECT_TRUE(std::equal(
        path.begin() + 1, path.end(), chosen.begin(),
        [&](RowIndex row, TokenId token) { return tokens[static_cast<size_t>(row)] == token; }));
    emitted.insert(emitted.end(), choice.begin(), choice.begin() + round.emitted);
    commit(talk, tokens, path, result);
    bonus = choice.back();
  }
  EXPECT_EQ(emitted, run.ids);
}

TEST_P(MlpRounds, GreedyRoundsOfChainAndTreeAreTheReferences) {
  ASSERT_FALSE(golden_.greedy.empty() || golden_.tree.empty());
  for (const auto* runs : {&golden_.greedy, &golden_.greedy_foreign}) {
    for (const MlpRun& run : *runs) replay_chain(run);
  }
  for (const auto* runs : {&golden_.tree, &golden_.tree_foreign}) {
    for (const MlpRun& run : *runs) replay_tree(run);
  }
}

// Our tree keeps the greedy path, so it accepts at least as much as the chain does.
TEST_P(MlpRounds, TheTreeAcceptsAtLeastTheChainAndMoreOnForeignPrompts) {
  const auto mean = [&](const std::vector<MlpRun>& runs, int nodes) {
    int64_t rounds = 0, accepted = 0;
    for (const MlpRun& run : runs) {
      Engine engine(model(), loaded_.drafter.get(), ex_, {});
      Request request;
      request.prompt = run.prompt_ids;
      request.stop = {.ids = {0}, .ignore_eos = false, .max_new_tokens = std::ssize(run.ids)};
      request.draft = {.mode = DraftWidth::Mode::kFixed, .tokens = nodes, .nodes = nodes};
      const auto outcome = engine.run(std::move(request));
      EXPECT_TRUE(outcome.ok());
      rounds += outcome.value().stats.draft.rounds;
      accepted += outcome.value().stats.draft.accepted;
    }
    return static_cast<double>(accepted) / static_cast<double>(rounds);
  };
  const int chain = drafter().model().config.stages, tree = drafter().max_nodes();
  const double easy[] = {mean(golden_.greedy, chain), mean(golden_.greedy, tree)};
  const double foreign[] = {mean(golden_.greedy_foreign, chain),
                            mean(golden_.greedy_foreign, tree)};
  RecordProperty("chain_easy", std::to_string(easy[0]));
  RecordProperty("tree_easy", std::to_string(easy[1]));
  RecordProperty("chain_foreign", std::to_string(foreign[0]));
  RecordProperty("tree_foreign", std::to_string(foreign[1]));
  EXPECT_GE(easy[1], easy[0]);
  EXPECT_GT(foreign[1], foreign[0]);
}

std::string case_name(const ::testing::TestParamInfo<Case>& instance) {
  std::string name = instance.param.base;
  for (char& c : name)
    if (c == '-' || c == '/') c = '_';
  return name + (instance.param.shared ? "_shared" : "");
}

// The repository's head is the shared one as safetensors with the first name of each tied group.
constexpr Case kOwn = {"granite-tiny", "granite-tiny-accelerator"};
constexpr Case kBin = {"granite-tiny", "granite-tiny-accelerator", true};
constexpr Case kBigCode = {"gptbigcode-random", "gptbigcode-random-accelerator"};
constexpr Case kLlama = {"llama-biased-random", "llama-biased-random-accelerator"};
constexpr Case kGelu = {"bases/bigcode-gelu", "bases/bigcode-gelu-accelerator"};
constexpr Case kHead80 = {"bases/llama-head80", "bases/llama-head80-accelerator"};
constexpr Case kLlama2 = {"bases/llama2-linear", "bases/llama2-linear-accelerator"};
constexpr Case kArctic = {"bases/llama3-rope", "bases/llama3-rope-arctic"};

INSTANTIATE_TEST_SUITE_P(Pairs, MlpRows,
                         ::testing::Values(kOwn, kBin, kBigCode, kLlama, kGelu, kHead80, kLlama2,
                                           kArctic),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Pairs, MlpRounds, ::testing::Values(kOwn, kBin), case_name);

}  // namespace
}  // namespace spindrift
