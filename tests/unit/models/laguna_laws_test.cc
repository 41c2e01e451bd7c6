#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "core/thread_pool.h"
#include "kernels/registry.h"
#include "models/registry.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

// The row law on whole forwards: the bits of a row are its own business.
namespace spindrift {
namespace {

using testing::TempDir;
using testing::tiny_laguna;
using testing::TinyFormat;
using testing::TinyLaguna;

using Matrix = std::vector<std::vector<float>>;

std::vector<TokenId> some_tokens(int64_t count, TokenId vocab, TokenId salt = 0) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<TokenId>((i * i * 7 + i * 13 + static_cast<size_t>(salt)) %
                                     static_cast<size_t>(vocab));
  return tokens;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_same_bits(const Matrix& a, const Matrix& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t r = 0; r < a.size(); ++r) EXPECT_TRUE(same_bits(a[r], b[r])) << "row " << r;
}

class Target {
 public:
  explicit Target(const TinyLaguna& shape, DType kv = DType::kF32) {
    tiny_laguna(shape).write(folder_.path());
    Result<LoadedTarget> loaded = load_target(folder_.path(), {.kv_dtype = kv});
    if (!loaded.ok()) ADD_FAILURE() << loaded.error().message;
    loaded_ = std::move(loaded).value();
  }
  const TargetModel& model() const { return *loaded_.model; }
  std::unique_ptr<Sequence> open() const { return loaded_.model->open(); }

  Matrix forward(Sequence& seq, const std::vector<TokenId>& tokens,
                 const std::vector<RowIndex>& parents = {}) {
    const SeqRows rows{.seq = &seq, .tokens = tokens, .parents = parents};
    return copy(model().forward(std::span(&rows, 1), {}, ws, ex).logits);
  }
  // Logits of every row, the prompt taken in chunks.
  Matrix prefill(Sequence& seq, const std::vector<TokenId>& tokens, size_t chunk) {
    Matrix all;
    for (size_t first = 0; first < tokens.size(); first += chunk) {
      const size_t count = std::min(chunk, tokens.size() - first);
      const std::vector<TokenId> part(tokens.begin() + static_cast<std::ptrdiff_t>(first),
                                      tokens.begin() + static_cast<std::ptrdiff_t>(first + count));
      for (auto& row : forward(seq, part)) all.push_back(std::move(row));
      commit_chain(seq, count);
    }
    return all;
  }
  static void commit_chain(Sequence& seq, size_t count) {
    std::vector<RowIndex> path(count);
    std::iota(path.begin(), path.end(), 0);
    seq.commit(path);
  }
  static Matrix copy(ConstRows rows) {
    Matrix copied;
    for (int64_t r = 0; r < rows.rows(); ++r)
      copied.emplace_back(rows.row(r).begin(), rows.row(r).end());
    return copied;
  }

  Workspace ws;
  Exec ex{.kernels = &kernels::table(kernels::default_isa().value())};

 private:
  TempDir folder_;
  LoadedTarget loaded_;
};

// One of each kind; windows shorter and longer than the prompts, sinks, both gates, all formats.
const TinyLaguna kShapes[] = {
    {},
    {.window = 1, .per_element_gate = true, .expert_format = TinyFormat::kNvfp4, .seed = 2},
    {.window = 100, .sinks = true, .format = TinyFormat::kF16, .seed = 3},
    {.window = 512,
     .heads = {4, 2, 6},
     .sliding = {true, false, true},
     .tied = true,
     .format = TinyFormat::kF32,
     .seed = 4},
};

class LagunaLaws : public ::testing::TestWithParam<size_t> {
 protected:
  Target target_{kShapes[GetParam()]};
};

TEST_P(LagunaLaws, ChangingLaterTokensChangesNoBitOfEarlierRows) {
  for (const int64_t length : {96, 600}) {
    const std::vector<TokenId> tokens = some_tokens(length, 61);
    std::vector<TokenId> changed = tokens;
    const auto from = static_cast<size_t>(length) * 2 / 3;
    for (size_t i = from; i < changed.size(); ++i) changed[i] = (changed[i] + 1) % 61;
    const auto a = target_.open(), b = target_.open();
    const Matrix before = target_.forward(*a, tokens), after = target_.forward(*b, changed);
    for (size_t r = 0; r < from; ++r) EXPECT_TRUE(same_bits(before[r], after[r])) << r;
    EXPECT_FALSE(same_bits(before[from], after[from]));
  }
}

TEST_P(LagunaLaws, ChunksOfThePromptComputeWhatTheWholeDoes) {
  const std::vector<TokenId> tokens = some_tokens(150, 61);
  const auto whole = target_.open();
  const Matrix expected = target_.prefill(*whole, tokens, tokens.size());
  for (const size_t chunk : {1U, 7U, 64U}) {
    const auto seq = target_.open();
    expect_same_bits(target_.prefill(*seq, tokens, chunk), expected);
    EXPECT_EQ(seq->state_bytes(), whole->state_bytes());
  }
}

TEST_P(LagunaLaws, ATreesRowsEqualTheChainsThroughThem) {
  const std::vector<TokenId> prompt = some_tokens(40, 61);
  const std::vector<TokenId> tree = {5, 9, 17, 9, 33, 2, 60};
  const std::vector<RowIndex> parents = {kRoot, 0, 0, 1, 2, 4, kRoot};
  const auto seq = target_.open();
  target_.prefill(*seq, prompt, 40);
  const Matrix rows = target_.forward(*seq, tree, parents);
  const std::vector<std::vector<size_t>> paths = {{0, 1, 3}, {0, 2, 4, 5}, {6}};
  for (const auto& path : paths) {
    std::vector<TokenId> chain;
    for (const size_t r : path) chain.push_back(tree[r]);
    const auto alone = target_.open();
    target_.prefill(*alone, prompt, 40);
    const Matrix expected = target_.forward(*alone, chain);
    for (size_t i = 0; i < path.size(); ++i) EXPECT_TRUE(same_bits(rows[path[i]], expected[i]));
  }
}

TEST_P(LagunaLaws, RejectedDraftsLeaveTheStateOfARunThatNeverDrafted) {
  const std::vector<TokenId> text = some_tokens(60, 61);
  constexpr size_t kPrompt = 20, kDraft = 6;
  for (size_t accepted = 0; accepted <= kDraft; ++accepted) {
    const auto plain = target_.open(), drafted = target_.open();
    const std::vector<TokenId> prompt(text.begin(), text.begin() + kPrompt);
    target_.prefill(*plain, prompt, kPrompt);
    target_.prefill(*drafted, prompt, kPrompt);
    for (size_t at = kPrompt; at + kDraft + 1 < text.size(); at += accepted + 1) {
      std::vector<TokenId> rows(text.begin() + static_cast<std::ptrdiff_t>(at),
                                text.begin() + static_cast<std::ptrdiff_t>(at + kDraft + 1));
      for (size_t i = accepted + 1; i < rows.size(); ++i) rows[i] = (rows[i] + 7) % 61;
      const Matrix verified = target_.forward(*drafted, rows);
      Target::commit_chain(*drafted, accepted + 1);
      for (size_t i = 0; i <= accepted; ++i) {
        const Matrix step = target_.forward(*plain, {text[at + i]});
        Target::commit_chain(*plain, 1);
        EXPECT_TRUE(same_bits(step[0], verified[i]));
      }
      ASSERT_EQ(drafted->state_bytes(), plain->state_bytes());
    }
  }
}

TEST_P(LagunaLaws, TwoSequencesInABatchEqualEachAlone) {
  const std::vector<TokenId> first = some_tokens(70, 61, 3), second = some_tokens(9, 61, 11);
  const auto a = target_.open(), b = target_.open(), c = target_.open(), d = target_.open();
  target_.prefill(*c, second, 9);
  target_.prefill(*d, second, 9);
  const Matrix alone_a = target_.forward(*a, first), alone_c = target_.forward(*c, {1, 2, 3});
  const std::vector<TokenId> next = {1, 2, 3};
  const Tap taps[] = {{Tap::Kind::kAfterLayer, 1}, {Tap::Kind::kFinalNorm, 0}};
  const SeqRows batch[] = {{.seq = b.get(), .tokens = first, .logits = LogitRows::kLast},
                           {.seq = d.get(), .tokens = next}};
  const ForwardResult result =
      target_.model().forward(batch, {.taps = taps}, target_.ws, target_.ex);
  const Matrix logits = Target::copy(result.logits);
  ASSERT_EQ(logits.size(), 4U);
  EXPECT_TRUE(same_bits(logits[0], alone_a.back()));
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(same_bits(logits[i + 1], alone_c[i]));
  ASSERT_EQ(result.taps.size(), 2U);
  EXPECT_EQ(result.taps[0].rows(), 73);
  // The head of a normed row is that row's logits.
  std::vector<float> again(61);
  target_.model().lm_head(result.taps[1].slice(72, 1), Rows(again.data(), 1, 61), target_.ex);
  EXPECT_TRUE(same_bits(again, logits[3]));
}

TEST_P(LagunaLaws, ThreadsAndInstructionSetsShareEveryBit) {
  const std::vector<TokenId> tokens = some_tokens(130, 61);
  target_.ex.kernels = &kernels::table(kernels::Isa::kScalar);
  const auto seq = target_.open();
  const Matrix expected = target_.prefill(*seq, tokens, 50);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      target_.ex = {.pool = &pool, .kernels = &kernels::table(isa)};
      const auto other = target_.open();
      expect_same_bits(target_.prefill(*other, tokens, 50), expected);
      EXPECT_EQ(other->state_bytes(), seq->state_bytes());
      target_.ex = {};
    }
  }
}

TEST_P(LagunaLaws, TruncatingEqualsNeverHavingGoneOn) {
  const std::vector<TokenId> tokens = some_tokens(90, 61);
  const std::vector<TokenId> prefix(tokens.begin(), tokens.begin() + 80);
  const auto seq = target_.open(), fresh = target_.open();
  target_.prefill(*seq, tokens, 30);
  target_.prefill(*fresh, prefix, 30);
  ASSERT_TRUE(seq->truncate(80).ok());
  EXPECT_EQ(seq->state_bytes(), fresh->state_bytes());
  expect_same_bits(target_.forward(*seq, {1, 2}), target_.forward(*fresh, {1, 2}));
}

INSTANTIATE_TEST_SUITE_P(Shapes, LagunaLaws, ::testing::Range<size_t>(0, std::size(kShapes)));

TEST(LagunaForward, RowsWithoutLogitsAndEmptyBatchesAreFine) {
  Target target({});
  const auto seq = target.open();
  const std::vector<TokenId> tokens = {1, 2, 3};
  const SeqRows none{.seq = seq.get(), .tokens = tokens, .logits = LogitRows::kNone};
  EXPECT_EQ(target.model().forward(std::span(&none, 1), {}, target.ws, target.ex).logits.rows(), 0);
  EXPECT_EQ(target.model().forward({}, {}, target.ws, target.ex).logits.rows(), 0);
}

TEST(LagunaForward, ABf16CacheIsHalfTheSizeAndKeepsTheLaws) {
  const TinyLaguna shape{.window = 0, .sliding = {false, false, false}};
  Target wide(shape), narrow(shape, DType::kBf16);
  const std::vector<TokenId> tokens = some_tokens(100, 61);
  const auto a = wide.open(), b = narrow.open(), c = narrow.open();
  wide.prefill(*a, tokens, 100);
  const Matrix whole = narrow.prefill(*b, tokens, 100);
  expect_same_bits(narrow.prefill(*c, tokens, 3), whole);
  EXPECT_EQ(2 * b->kv_bytes(), a->kv_bytes());
}

TEST(LagunaForward, TheSinkChangesSlidingLayersOnly) {
  // Sinks of minus infinity would change nothing; random ones do.
  Target plain({.seed = 5}), sunk({.sinks = true, .seed = 5});
  const auto a = plain.open(), b = sunk.open();
  EXPECT_FALSE(same_bits(plain.forward(*a, {1, 2, 3})[2], sunk.forward(*b, {1, 2, 3})[2]));
  const TinyLaguna full{.sliding = {false, false, false}, .seed = 5};
  TinyLaguna full_sunk = full;
  full_sunk.sinks = true;
  Target c(full), d(full_sunk);
  const auto e = c.open(), f = d.open();
  expect_same_bits(c.forward(*e, {1, 2, 3}), d.forward(*f, {1, 2, 3}));
}

}  // namespace
}  // namespace spindrift
