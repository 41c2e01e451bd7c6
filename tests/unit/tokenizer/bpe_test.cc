#include "tokenizer/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace spindrift {
namespace {

struct Model {
  std::vector<std::string> tokens;
  std::vector<MergeRule> merges;
  Vocabulary vocabulary;
};

void finish(Model& model) {
  std::vector<std::pair<std::string_view, int64_t>> entries;
  for (size_t i = 0; i < model.tokens.size(); ++i) entries.emplace_back(model.tokens[i], i);
  auto built = Vocabulary::build(std::move(entries), "test");
  ASSERT_TRUE(built.ok());
  model.vocabulary = std::move(built).value();
}

// Letters a..d and random merges of what exists so far.
Model random_model(std::mt19937& random, size_t merges) {
  Model model;
  model.tokens = {"a", "b", "c", "d"};
  while (model.merges.size() < merges) {
    const size_t left = random() % model.tokens.size(), right = random() % model.tokens.size();
    const std::string joined = model.tokens[left] + model.tokens[right];
    const auto known = std::find(model.tokens.begin(), model.tokens.end(), joined);
    const auto result = static_cast<TokenId>(known - model.tokens.begin());
    if (known == model.tokens.end()) model.tokens.push_back(joined);
    model.merges.push_back({static_cast<TokenId>(left), static_cast<TokenId>(right), result});
  }
  finish(model);
  return model;
}

// The definition: again and again the best rule's leftmost pair.
std::vector<TokenId> by_definition(const Model& model, const std::string& word) {
  std::vector<TokenId> ids;
  for (const char c : word) ids.push_back(c - 'a');
  while (true) {
    size_t best_rule = model.merges.size(), best_at = 0;
    for (size_t at = 0; at + 1 < ids.size(); ++at) {
      for (size_t rule = 0; rule < model.merges.size(); ++rule) {
        // Of two equal rules the later one counts.
        const bool fits =
            model.merges[rule].left == ids[at] && model.merges[rule].right == ids[at + 1];
        const bool repeated =
            std::any_of(model.merges.begin() + static_cast<std::ptrdiff_t>(rule) + 1,
                        model.merges.end(), [&](const MergeRule& later) {
                          return later.left == ids[at] && later.right == ids[at + 1];
                        });
        if (fits && !repeated && rule < best_rule) {
          best_rule = rule;
          best_at = at;
        }
      }
    }
    if (best_rule == model.merges.size()) return ids;
    ids[best_at] = model.merges[best_rule].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

Bpe build(const Model& model, BpeOptions options = {}, bool byte_level = false) {
  auto bpe = Bpe::build(model.vocabulary, model.merges, std::move(options), byte_level, "test");
  EXPECT_TRUE(bpe.ok()) << (bpe.ok() ? "" : bpe.error().message);
  return std::move(bpe).value();
}

std::vector<TokenId> encode(const Bpe& bpe, const Model& model, std::string_view word) {
  Bpe::Scratch scratch;
  std::vector<TokenId> ids;
  bpe.encode_word(model.vocabulary, word, scratch, ids);
  return ids;
}

TEST(Bpe, AppliesTheBestRuleAtItsLeftmostPlaceFirst) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    const Model model = random_model(random, 3 + random() % 20);
    const Bpe bpe = build(model);
    for (int i = 0; i < 30; ++i) {
      std::string word;
      const size_t length = 1 + random() % 60;  // short words and long ones take different ways
      for (size_t k = 0; k < length; ++k) word += static_cast<char>('a' + random() % 4);
      ASSERT_EQ(encode(bpe, model, word), by_definition(model, word)) << word;
    }
  }
}

TEST(Bpe, HundredsOfThousandsOfLettersWithoutASpaceTakeNoQuadraticTime) {
  Model model;
  model.tokens = {"a", "b", "aa", "aaaa", "ab"};
  model.merges = {{0, 0, 2}, {2, 2, 3}, {0, 1, 4}};
  finish(model);
  const std::vector<TokenId> ids = encode(build(model), model, std::string(200000, 'a') + "b");
  EXPECT_EQ(ids.size(), 50001u);
  EXPECT_EQ(ids.back(), 1);
}

TEST(Bpe, UnknownCharactersFuseOnlyWhenAskedTo) {
  Model model;
  model.tokens = {"a", "<unk>"};
  finish(model);
  EXPECT_EQ(encode(build(model, {.unk_token = "<unk>"}), model, "axya"),
            (std::vector<TokenId>{0, 1, 1, 0}));
  EXPECT_EQ(encode(build(model, {.unk_token = "<unk>", .fuse_unk = true}), model, "axya"),
            (std::vector<TokenId>{0, 1, 0}));
  EXPECT_EQ(encode(build(model), model, "axya"), (std::vector<TokenId>{0, 0}));
}

TEST(Bpe, ByteFallbackNeedsAllBytesOfACharacter) {
  Model model;
  model.tokens = {"a", "<unk>", "<0xC3>", "<0xA9>", "<0xE2>"};
  finish(model);
  const Bpe bpe = build(model, {.unk_token = "<unk>", .byte_fallback = true});
  EXPECT_EQ(encode(bpe, model, "a\u00e9"), (std::vector<TokenId>{0, 2, 3}));
  EXPECT_EQ(encode(bpe, model, "a\u20ac"), (std::vector<TokenId>{0, 1}));
}

TEST(Bpe, IgnoreMergesTakesAWholeWordThatIsAToken) {
  Model model;
  model.tokens = {"a", "b", "ab", "aba"};
  model.merges = {{0, 1, 2}};
  finish(model);
  EXPECT_EQ(encode(build(model), model, "aba"), (std::vector<TokenId>{2, 0}));
  EXPECT_EQ(encode(build(model, {.ignore_merges = true}), model, "aba"), (std::vector<TokenId>{3}));
}

TEST(Bpe, AMissingUnknownTokenIsRefusedOnlyWhereItCouldBeNeeded) {
  Model model;
  model.tokens = {"a"};
  finish(model);
  const auto refused =
      Bpe::build(model.vocabulary, {}, {.unk_token = "<unk>"}, true, "file: model");
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("file: model.unk_token"), std::string::npos);
}

TEST(Vocabulary, RefusesWhatHasNoPlace) {
  EXPECT_FALSE(Vocabulary::build({{"a", 0}, {"a", 1}}, "v").ok());
  EXPECT_FALSE(Vocabulary::build({{"a", 0}, {"b", 0}}, "v").ok());
  EXPECT_FALSE(Vocabulary::build({{"a", -1}}, "v").ok());
  EXPECT_FALSE(Vocabulary::build({{"a", 2147483648}}, "v").ok());
  const auto far = Vocabulary::build({{"a", 2000000000}}, "v");
  ASSERT_FALSE(far.ok());
  EXPECT_NE(far.error().message.find("v[\"a\"]"), std::string::npos) << far.error().message;
}

TEST(Vocabulary, KeepsHolesEmpty) {
  const auto built = Vocabulary::build({{"a", 0}, {"b", 7}}, "v");
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built.value().end(), 8);
  EXPECT_EQ(built.value().count(), 2);
  EXPECT_FALSE(built.value().has(3));
  EXPECT_EQ(built.value().spelling(3), "");
  EXPECT_EQ(built.value().find("b"), 7);
}

}  // namespace
}  // namespace spindrift
