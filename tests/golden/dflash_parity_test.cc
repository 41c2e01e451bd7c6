#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>
#include <string>

#include "core/thread_pool.h"
#include "drafters/argmax.h"
#include "drafters/dflash/drafter.h"
#include "drafters/registry.h"
#include "golden/dflash_golden.h"
#include "kernels/registry.h"
#include "models/registry.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

using testing::DFlashGolden;
using testing::GoldenBlock;
using testing::GoldenRound;
using testing::GoldenRun;

constexpr double kDecidedMargin = 2e-3;  // above it rounding cannot change the best token

// A folder of drafter weights and the folder with the outputs the reference computed from them.
struct Case {
  const char* drafter;
  const char* golden;
};

// The demo pair and the variants are part of the repository, the others are shared beside it.
std::filesystem::path model_folder(const std::string& name) {
  for (const char* place : {"models", "tests/golden/variants"}) {
    const std::filesystem::path own = testing::repo_dir() / place / name;
    if (std::filesystem::exists(own)) return own;
  }
  return testing::shared_dir_setting() / "models" / name;
}

double worst_difference(ConstRows rows, const testing::NpyArray& expected) {
  EXPECT_EQ(rows.rows(), expected.rows());
  EXPECT_EQ(rows.cols(), expected.cols());
  double worst = 0.0;
  for (int64_t r = 0; r < rows.rows(); ++r) {
    for (int64_t c = 0; c < rows.cols(); ++c) {
      const double difference =
          std::fabs(static_cast<double>(rows.row(r)[static_cast<size_t>(c)]) - expected.row(r)[c]);
      worst = std::max(worst, std::isnan(difference) ? 1e30 : difference);
    }
  }
  return worst;
}

class DFlashPair : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::filesystem::path folder = model_folder(GetParam().drafter);
    if (!std::filesystem::exists(folder)) {
      SPINDRIFT_SHARED_OR_SKIP(shared, std::filesystem::path("models") / GetParam().drafter);
    }
    golden_folder_ = model_folder(GetParam().golden) / "golden";
    golden_ = DFlashGolden::read(golden_folder_);
    auto target = load_target(model_folder(golden_.target), {});
    ASSERT_TRUE(target.ok()) << target.error().message;
    target_ = std::move(target).value();
    const TargetFacts facts{.family = target_.family, .info = model().info()};
    auto loaded = load_drafter(folder, kAutoDraftKind, model(), facts);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    loaded_ = std::move(loaded).value();
  }

  const TargetModel& model() const { return *target_.model; }
  const dflash::DFlashDrafter& drafter() const {
    return dynamic_cast<const dflash::DFlashDrafter&>(*loaded_.drafter);
  }

  // Runs tokens through the target: commits them and has the drafter observe them.
  ForwardResult feed(Sequence& seq, DraftState& state, std::span<const TokenId> tokens) {
    const SeqRows rows{.seq = &seq, .tokens = tokens, .parents = {}, .logits = LogitRows::kLast};
    const ForwardResult result =
        model().forward(std::span(&rows, 1), {.taps = drafter().taps()}, ws_, ex_);
    commit(seq, state, tokens, result);
    return result;
  }
  void commit(Sequence& seq, DraftState& state, std::span<const TokenId> tokens,
              const ForwardResult& result) {
    std::vector<RowIndex> path(tokens.size());
    std::iota(path.begin(), path.end(), 0);
    seq.commit(path);
    std::vector<ConstRows> taps;
    for (const ConstRows& tap : result.taps) taps.push_back(tap.slice(0, std::ssize(tokens)));
    drafter().observe(state, {.first = state.observed(), .tokens = tokens, .taps = taps}, draft_ws_,
                      ex_);
  }

  void replay(const GoldenRun& run);
  // False when a near tie may have sent the reference another way.
  bool compare(const GoldenRound& round, const std::vector<TokenId>& draft, int accepted);

  LoadedTarget target_;
  LoadedDrafter loaded_;
  std::filesystem::path golden_folder_;
  DFlashGolden golden_;
  ThreadPool pool_{2};
  Exec ex_{.pool = &pool_, .kernels = &kernels::table(kernels::default_isa().value())};
  Workspace ws_, draft_ws_;
  int compared_rounds_ = 0, compared_tokens_ = 0;
};

class DFlashRows : public DFlashPair {};
class DFlashRounds : public DFlashPair {};

TEST_P(DFlashRows, ContextAndBlockRowsAgreeWithTheReference) {
  const DFlashGolden& golden = golden_;
  const auto seq = model().open();
  const SeqRows rows{
      .seq = seq.get(), .tokens = golden.ids, .parents = {}, .logits = LogitRows::kNone};
  const ForwardResult forward =
      model().forward(std::span(&rows, 1), {.taps = drafter().taps()}, ws_, ex_);
  const std::vector<ConstRows> taps(forward.taps.begin(), forward.taps.end());

  const ConstRows context = drafter().context_rows(taps, draft_ws_, ex_);
  for (size_t i = 0; i < golden.context_rows.size(); ++i) {
    const testing::NpyArray expected{
        .dtype = DType::kF32,
        .shape = {1, golden.context.cols()},
        .values = {golden.context.row(static_cast<int64_t>(i)),
                   golden.context.row(static_cast<int64_t>(i)) + golden.context.cols()}};
    EXPECT_LT(worst_difference(context.slice(golden.context_rows[i], 1), expected),
              golden.tolerance)
        << "context row " << golden.context_rows[i];
  }

  double worst = 0.0;
  for (const GoldenBlock& block : golden.blocks) {
    SCOPED_TRACE("block at " + std::to_string(block.position));
    const auto state = drafter().open();
    std::vector<ConstRows> before;
    for (const ConstRows& tap : taps) before.push_back(tap.slice(0, block.position));
    const auto tokens = std::span(golden.ids).first(static_cast<size_t>(block.position));
    drafter().observe(*state, {.first = 0, .tokens = tokens, .taps = before}, draft_ws_, ex_);
    DraftTree tree;
    const DraftCall call{.state = state.get(),
                         .bonus = block.bonus,
                         .max_nodes = drafter().max_nodes(),
                         .out = &tree};
    const ConstRows hidden = drafter().block_hidden(std::span(&call, 1), draft_ws_, ex_);
    const double difference = worst_difference(hidden, block.hidden);
    EXPECT_LT(difference, golden.tolerance);
    worst = std::max(worst, difference);

    std::vector<float> logits(static_cast<size_t>(hidden.rows() * model().info().vocab));
    const Rows logit_rows(logits.data(), hidden.rows(), model().info().vocab);
    model().lm_head(hidden, logit_rows, ex_);
    for (int64_t r = 0; r < hidden.rows(); ++r) {
      const auto& ids = block.top_ids[static_cast<size_t>(r)];
      const auto& expected = block.top_logits[static_cast<size_t>(r)];
      for (size_t i = 0; i < ids.size(); ++i) {
        EXPECT_NEAR(logit_rows.row(r)[static_cast<size_t>(ids[i])], expected[i], golden.tolerance)
            << "row " << r;
      }
    }
    drafter().propose(std::span(&call, 1), draft_ws_, ex_);
    ASSERT_EQ(std::ssize(tree.tokens), hidden.rows() - 1);
    for (size_t i = 0; i < tree.tokens.size(); ++i) {
      const auto& best = block.top_logits[i + 1];
      if (best[0] - best[1] < 2.0 * golden.tolerance) continue;
      EXPECT_EQ(tree.tokens[i], block.top_ids[i + 1][0]) << "draft " << i;
    }
  }
  RecordProperty("worst_hidden_difference", std::to_string(worst));
}

bool DFlashPair::compare(const GoldenRound& round, const std::vector<TokenId>& draft,
                         int accepted) {
  EXPECT_EQ(draft.size(), round.draft.size());
  bool decided = round.verify_margin >= kDecidedMargin;
  for (size_t i = 0; i < draft.size(); ++i) {
    if (round.draft_margins[i] < kDecidedMargin) {
      decided = decided && draft[i] == round.draft[i];
      continue;
    }
    EXPECT_EQ(draft[i], round.draft[i]) << "position " << round.position << ", draft " << i;
    ++compared_tokens_;
  }
  if (!decided) return false;
  EXPECT_EQ(accepted, round.accepted) << "position " << round.position;
  ++compared_rounds_;
  return true;
}

void DFlashPair::replay(const GoldenRun& run) {
  const auto seq = model().open();
  const auto state = drafter().open();
  TokenId bonus = argmax(feed(*seq, *state, run.prompt_ids).logits.row(0));
  std::vector<TokenId> emitted = {bonus};
  for (const GoldenRound& round : run.rounds) {
    ASSERT_EQ(seq->committed(), round.position);
    ASSERT_EQ(bonus, round.bonus);
    DraftTree tree;
    const DraftCall call{
        .state = state.get(), .bonus = bonus, .max_nodes = drafter().max_nodes(), .out = &tree};
    drafter().propose(std::span(&call, 1), draft_ws_, ex_);

    std::vector<TokenId> tokens = {bonus};
    tokens.insert(tokens.end(), tree.tokens.begin(), tree.tokens.end());
    const SeqRows rows{
        .seq = seq.get(), .tokens = tokens, .parents = {}, .logits = LogitRows::kAll};
    const ForwardResult result =
        model().forward(std::span(&rows, 1), {.taps = drafter().taps()}, ws_, ex_);
    int accepted = 0;
    std::vector<TokenId> choice;
    for (;;) {
      choice.push_back(argmax(result.logits.row(accepted)));
      if (accepted == std::ssize(tree.tokens) ||
          choice.back() != tree.tokens[static_cast<size_t>(accepted)]) {
        break;
      }
      ++accepted;
    }
    if (!compare(round, tree.tokens, accepted)) return;
    commit(*seq, *state, std::span(tokens).first(static_cast<size_t>(accepted) + 1), result);
    emitted.insert(emitted.end(), choice.begin(), choice.begin() + round.emitted);
    bonus = choice.back();
  }
  EXPECT_EQ(emitted, run.ids);
}

TEST_P(DFlashRounds, GreedyRoundsDraftAndAcceptWhatTheReferenceDid) {
  for (const char* label : {"greedy_rounds", "greedy_rounds_foreign"}) {
    int in_file = 0;
    compared_rounds_ = compared_tokens_ = 0;
    for (const GoldenRun& run : testing::read_golden_runs(golden_folder_, label)) {
      in_file += static_cast<int>(run.rounds.size());
      replay(run);
    }
    RecordProperty(std::string(label) + "_compared",
                   std::to_string(compared_rounds_) + " of " + std::to_string(in_file) + " rounds");
    EXPECT_GE(10 * compared_rounds_, 9 * in_file) << label;
    EXPECT_TRUE(in_file == 0 || compared_tokens_ > 0);
  }
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.drafter;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

constexpr Case kFused = {"laguna-tiny-dflash", "laguna-tiny-dflash"};
constexpr Case kSplit = {"laguna-tiny-dflash-split", "laguna-tiny-dflash"};
constexpr Case kRandom = {"laguna-random-dflash", "laguna-random-dflash"};

INSTANTIATE_TEST_SUITE_P(Drafters, DFlashRows, ::testing::Values(kFused, kSplit, kRandom),
                         case_name);
INSTANTIATE_TEST_SUITE_P(
    Variants, DFlashRows,
    ::testing::Values(Case{"dflash-nvfp4", "dflash-nvfp4"}, Case{"dflash-fp8", "dflash-fp8"},
                      Case{"dflash-int4", "dflash-int4"},
                      Case{"dflash-mlx-affine", "dflash-mlx-affine"},
                      Case{"dflash-mlx-nvfp4", "dflash-mlx-nvfp4"},
                      Case{"dflash-prefixed-split", "dflash-prefixed-split"},
                      Case{"dflash-prefixed-split-int4", "dflash-prefixed-split-int4"}),
    case_name);
INSTANTIATE_TEST_SUITE_P(Drafters, DFlashRounds, ::testing::Values(kFused, kRandom), case_name);

}  // namespace
}  // namespace spindrift
