#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/thread_pool.h"
#include "drafters/mlp_speculator/drafter.h"
#include "kernels/registry.h"
#include "unit/drafters/mlp_speculator_fixture.h"

namespace spindrift::testing {
namespace {

using namespace mlp_speculator;

class MlpSpeculator : public ::testing::Test {
 protected:
  MlpSpeculatorDrafter make(mlp_speculator::Config config) {
    const TempDir folder;
    MlpTensors(config, false).write(folder);
    stores_.push_back(open_weights(folder.path()).value());
    return {config, load_weights(*stores_.back(), config).value()};
  }

  // A conversation whose newest row is the `seed`th.
  std::unique_ptr<DraftState> talk(const MlpSpeculatorDrafter& drafter, uint32_t seed) {
    auto state = drafter.open();
    show(drafter, *state, seed, 2);
    return state;
  }
  void show(const MlpSpeculatorDrafter& drafter, DraftState& state, uint32_t seed, int64_t count) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> rows(static_cast<size_t>(count * drafter.model().config.hidden));
    for (float& x : rows) x = normal(random);
    const std::vector<TokenId> tokens(static_cast<size_t>(count), 1);
    const ConstRows tap(rows.data(), count, drafter.model().config.hidden);
    drafter.observe(
        state, {.first = state.observed(), .tokens = tokens, .taps = std::span(&tap, 1)}, ws_, ex_);
  }
  DraftTree propose(const MlpSpeculatorDrafter& drafter, DraftState& state, int nodes,
                    TokenId bonus = 7, int depth = 99) {
    DraftTree tree;
    const DraftCall call{
        .state = &state, .bonus = bonus, .max_nodes = nodes, .max_depth = depth, .out = &tree};
    drafter.propose(std::span(&call, 1), ws_, ex_);
    return tree;
  }

  std::vector<std::unique_ptr<WeightStore>> stores_;
  ThreadPool pool_{3};
  Exec ex_{.pool = nullptr, .kernels = &kernels::table(kernels::default_isa().value())};
  Workspace ws_;
};

void expect_equal(const DraftTree& a, const DraftTree& b) {
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.parents, b.parents);
}

TEST_F(MlpSpeculator, RoomForNoMoreThanTheStagesGivesTheChainCutToIt) {
  const auto drafter = make(mlp_config(true));
  const auto state = talk(drafter, 3);
  const DraftTree chain = propose(drafter, *state, 3);
  ASSERT_EQ(chain.tokens.size(), 3U);
  EXPECT_EQ(chain.parents, (std::vector<RowIndex>{kRoot, 0, 1}));
  for (const int nodes : {1, 2}) {
    const DraftTree cut = propose(drafter, *state, nodes);
    ASSERT_EQ(std::ssize(cut.tokens), nodes);
    EXPECT_TRUE(std::equal(cut.tokens.begin(), cut.tokens.end(), chain.tokens.begin()));
  }
  EXPECT_TRUE(propose(drafter, *state, 0).tokens.empty());
}

TEST_F(MlpSpeculator, ATreeHoldsTheChainAndTheBestCandidatesThatFit) {
  const auto drafter = make(mlp_config(true));
  EXPECT_EQ(drafter.max_nodes(), 4 + 6 + 6);
  for (uint32_t seed = 0; seed < 8; ++seed) {
    const auto state = talk(drafter, seed);
    const DraftTree chain = propose(drafter, *state, 3);
    for (int nodes = 4; nodes <= drafter.max_nodes(); ++nodes) {
      const DraftTree tree = propose(drafter, *state, nodes);
      ASSERT_LE(std::ssize(tree.tokens), nodes);
      ASSERT_GE(tree.tokens.size(), 3U);
      EXPECT_TRUE(std::equal(chain.tokens.begin(), chain.tokens.end(), tree.tokens.begin()));
      for (size_t i = 0; i < tree.tokens.size(); ++i) {
        ASSERT_LT(tree.parents[i], static_cast<RowIndex>(i));
        for (size_t j = 0; j < i; ++j)
          EXPECT_FALSE(tree.parents[i] == tree.parents[j] && tree.tokens[i] == tree.tokens[j]);
      }
    }
  }
}

int deepest(const DraftTree& tree) {
  std::vector<int> depth;
  for (const RowIndex parent : tree.parents)
    depth.push_back(parent == kRoot ? 1 : depth[static_cast<size_t>(parent)] + 1);
  return depth.empty() ? 0 : *std::max_element(depth.begin(), depth.end());
}

TEST_F(MlpSpeculator, ALimitOfDepthRunsThatManyStagesOfChainAndTree) {
  const auto drafter = make(mlp_config(true));
  EXPECT_EQ(drafter.max_depth(), 3);
  const auto state = talk(drafter, 3);
  const DraftTree whole = propose(drafter, *state, 3);
  for (int depth = 0; depth <= 3; ++depth) {
    const DraftTree chain = propose(drafter, *state, depth, 7, depth);
    EXPECT_EQ(std::ssize(chain.tokens), depth);
    const DraftTree tree = propose(drafter, *state, drafter.max_nodes(), 7, depth);
    EXPECT_EQ(deepest(tree), depth);
    ASSERT_GE(std::ssize(tree.tokens), depth);
    for (size_t i = 0; i < static_cast<size_t>(depth); ++i) {
      EXPECT_EQ(chain.tokens[i], whole.tokens[i]);
      EXPECT_EQ(tree.tokens[i], whole.tokens[i]);
    }
  }
  // With one stage left the candidates are its best tokens.
  EXPECT_EQ(propose(drafter, *state, 99, 7, 1).tokens.size(), 4U);
}

TEST_F(MlpSpeculator, CandidatesAreTheBestOfEveryPath) {
  mlp_speculator::Config config = mlp_config(false);
  config.candidates = 1000;
  const auto drafter = make(config);
  std::vector<float> row(20, 0.3F);
  row[4] = -2.0F;
  const SpreadRoot root{.token = 9, .top_k = drafter.model().config.top_k};
  const auto all = spread(drafter.model(), ConstRows(row.data(), 1, 20), std::span(&root, 1),
                          PickValue::kLogProbability, ws_, ex_)[0];
  const auto candidates = best_candidates(all, 1000);
  ASSERT_EQ(candidates.size(), 24U);
  for (size_t i = 1; i < candidates.size(); ++i)
    EXPECT_GE(candidates[i - 1].score, candidates[i].score);
  EXPECT_EQ(best_candidates(all, 3).size(), 3U);
  EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(),
                          [&](const Candidate& c) { return c.ids == greedy_path(all); }));
}

TEST_F(MlpSpeculator, OneCandidateOrOneTokenAStageIsAChain) {
  mlp_speculator::Config one = mlp_config(true), narrow = mlp_config(true);
  one.candidates = 1;
  narrow.top_k = {1, 1, 1};
  for (const auto& config : {one, narrow}) {
    const auto drafter = make(config);
    EXPECT_EQ(drafter.max_nodes(), 3);
    EXPECT_EQ(propose(drafter, *talk(drafter, 1), 16).tokens.size(), 3U);
  }
}

TEST_F(MlpSpeculator, TogetherEqualsAloneOnAnyNumberOfThreads) {
  const auto drafter = make(mlp_config(false));
  std::vector<std::unique_ptr<DraftState>> states;
  std::vector<DraftTree> trees(9), alone;
  std::vector<DraftCall> calls;
  for (uint32_t i = 0; i < trees.size(); ++i) {
    states.push_back(talk(drafter, i));
    const int nodes = static_cast<int>(i) * 2;
    alone.push_back(propose(drafter, *states.back(), nodes, static_cast<TokenId>(i)));
    calls.push_back({.state = states.back().get(),
                     .bonus = static_cast<TokenId>(i),
                     .max_nodes = nodes,
                     .out = &trees[i]});
  }
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &pool_}) {
    drafter.propose(calls, ws_, {.pool = pool, .kernels = ex_.kernels});
    for (size_t i = 0; i < trees.size(); ++i) expect_equal(trees[i], alone[i]);
  }
  for (const kernels::Isa isa : kernels::usable_isas()) {
    drafter.propose(calls, ws_, {.pool = nullptr, .kernels = &kernels::table(isa)});
    for (size_t i = 0; i < trees.size(); ++i) expect_equal(trees[i], alone[i]);
  }
}

TEST_F(MlpSpeculator, AStateIsItsNewestRowAndWaitsForOneAfterACut) {
  const auto drafter = make(mlp_config(true));
  const auto whole = drafter.open(), split = drafter.open();
  EXPECT_TRUE(propose(drafter, *whole, 3).tokens.empty());  // nothing seen yet
  show(drafter, *whole, 5, 6);
  show(drafter, *split, 1, 5);
  std::vector<float> rows;  // the sixth row of the six
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 6 * 20; ++i) rows.push_back(normal(random));
  const ConstRows last(rows.data() + 5 * 20, 1, 20);
  const TokenId token = 1;
  drafter.observe(*split, {.first = 5, .tokens = std::span(&token, 1), .taps = std::span(&last, 1)},
                  ws_, ex_);
  const DraftTree expected = propose(drafter, *whole, 16);
  expect_equal(propose(drafter, *split, 16), expected);
  expect_equal(propose(drafter, *split, 16), expected);  // proposing left no trace

  ASSERT_TRUE(split->truncate(4).ok());
  EXPECT_EQ(split->observed(), 4);
  EXPECT_TRUE(propose(drafter, *split, 16).tokens.empty());
  const TokenId two[] = {1, 1};
  const ConstRows tail(rows.data() + 4 * 20, 2, 20);
  drafter.observe(*split, {.first = 4, .tokens = two, .taps = std::span(&tail, 1)}, ws_, ex_);
  expect_equal(propose(drafter, *split, 16), expected);

  whole->reset();
  EXPECT_EQ(whole->observed(), 0);
  EXPECT_TRUE(propose(drafter, *whole, 3).tokens.empty());
}

TEST_F(MlpSpeculator, ARowOfNoNumbersProposesNothing) {
  const auto drafter = make(mlp_config(true));
  const auto state = drafter.open();
  const std::vector<float> row(20, std::numeric_limits<float>::quiet_NaN());
  const TokenId token = 1;
  const ConstRows tap(row.data(), 1, 20);
  drafter.observe(*state, {.first = 0, .tokens = std::span(&token, 1), .taps = std::span(&tap, 1)},
                  ws_, ex_);
  for (const int nodes : {2, 16}) EXPECT_TRUE(propose(drafter, *state, nodes).tokens.empty());
}

TEST_F(MlpSpeculator, BestTokensAreThoseOfASortWithTheirLogProbabilities) {
  const auto drafter = make(mlp_config(true));
  const Head& head = *drafter.model().weights.stages[0].head;
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> states(70 * 24);  // more rows than one product takes
  for (float& x : states) x = normal(random);
  const ConstRows rows(states.data(), 70, 24);
  for (const int64_t k : {1, 2, 7, 600}) {
    const auto values = best_tokens(head, rows, k, PickValue::kLogit, ex_);
    const auto scores = best_tokens(head, rows, k, PickValue::kLogProbability, ex_);
    for (int64_t r = 0; r < rows.rows(); ++r) {
      std::vector<float> logits;
      for (const auto& block : head.blocks) {
        std::vector<float> part(static_cast<size_t>(block->out()));
        nn::apply(*block, rows.slice(r, 1), Rows(part.data(), 1, block->out()), ex_);
        logits.insert(logits.end(), part.begin(), part.end());
      }
      std::vector<TokenId> order(logits.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
        return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
      });
      double sum = 0;
      for (const float x : logits) sum += std::exp(static_cast<double>(x));
      for (int64_t i = 0; i < k; ++i) {
        const TokenId token = order[static_cast<size_t>(i)];
        const double logit = logits[static_cast<size_t>(token)];
        const auto at = static_cast<size_t>(r * k + i);
        ASSERT_EQ(values[at].token, token);
        ASSERT_EQ(values[at].value, static_cast<float>(logit));
        ASSERT_EQ(scores[at].token, token);
        ASSERT_NEAR(scores[at].value, logit - std::log(sum), 1e-5);
      }
    }
  }
}

TEST(MlpSpeculatorTree, PathsShareTheirPrefixesAndTheFirstThatDoesNotFitEndsTheTree) {
  const std::vector<TokenId> chain = {1, 2, 3};
  const std::vector<Candidate> candidates = {
      {{1, 2, 4}, -1.0F}, {{1, 2, 3}, -2.0F}, {{5, 2, 3}, -3.0F}, {{1, 2, 6}, -4.0F}};
  DraftTree tree;
  merge_paths(chain, candidates, 7, tree);
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{1, 2, 3, 4, 5, 2, 3}));
  EXPECT_EQ(tree.parents, (std::vector<RowIndex>{kRoot, 0, 1, 1, kRoot, 4, 5}));
  tree.clear();
  merge_paths(chain, candidates, 6, tree);  // the third candidate has no room, so the last neither
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{1, 2, 3, 4}));
  tree.clear();
  merge_paths(chain, candidates, 2, tree);
  EXPECT_EQ(tree.tokens, (std::vector<TokenId>{1, 2}));
}

}  // namespace
}  // namespace spindrift::testing
