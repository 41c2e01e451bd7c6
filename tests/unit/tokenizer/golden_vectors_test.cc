#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/shared_dir.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

// Answers of the `tokenizers` package, stored by tools/tokenizer_variants.py.
struct Golden {
  std::shared_ptr<const Tokenizer> tokenizer;
  nlohmann::json vectors;
};

Golden read_golden(const std::string& name) {
  const std::filesystem::path folder = testing::repo_dir() / "tests/golden/tokenizer" / name;
  std::ifstream in(folder / "vectors.json", std::ios::binary);
  Golden golden{nullptr, nlohmann::json::parse(in)};
  const bool model = !std::filesystem::exists(folder / "tokenizer.json");
  auto loaded = Tokenizer::load(model ? testing::repo_dir() / "models/laguna-tiny-nvfp4" : folder);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  if (loaded.ok()) golden.tokenizer = loaded.value();
  return golden;
}

class GoldenTokenizer : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenTokenizer, EncodesAsThePackageDid) {
  const Golden golden = read_golden(GetParam());
  ASSERT_NE(golden.tokenizer, nullptr);
  ASSERT_GE(golden.vectors["encode"].size(), 50u);
  for (const auto& item : golden.vectors["encode"]) {
    const auto text = item["text"].get<std::string>();
    const auto ids = golden.tokenizer->encode(text);
    ASSERT_TRUE(ids.ok()) << ids.error().message;
    EXPECT_EQ(ids.value(), item["ids"].get<std::vector<TokenId>>()) << text;
  }
  const auto& special = golden.vectors["special"];
  const auto ids =
      golden.tokenizer->encode(special["text"].get<std::string>(), {.add_special = true});
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids.value(), special["ids"].get<std::vector<TokenId>>());
}

TEST_P(GoldenTokenizer, DecodesAsThePackageDid) {
  const Golden golden = read_golden(GetParam());
  ASSERT_NE(golden.tokenizer, nullptr);
  for (const auto& item : golden.vectors["decode"]) {
    const auto ids = item["ids"].get<std::vector<TokenId>>();
    EXPECT_EQ(golden.tokenizer->decode(ids, false), item["text"].get<std::string>());
    EXPECT_EQ(golden.tokenizer->decode(ids, true), item["skipped"].get<std::string>());
  }
}

TEST_P(GoldenTokenizer, StreamsOnlyWholeCodePointsThatJoinToTheDecodedText) {
  const Golden golden = read_golden(GetParam());
  ASSERT_NE(golden.tokenizer, nullptr);
  for (const auto& item : golden.vectors["decode"]) {
    const auto ids = item["ids"].get<std::vector<TokenId>>();
    const auto whole = item["text"].get<std::string>();
    TokenStream stream(*golden.tokenizer, false);
    std::string text;
    for (const TokenId id : ids) {
      const std::string piece = stream.push(id);
      ASSERT_TRUE(valid_utf8(piece));
      text += piece;
      ASSERT_TRUE(whole.starts_with(text)) << text << " is not the beginning of " << whole;
    }
    EXPECT_EQ(text + stream.finish(), whole);
  }
}

TEST_P(GoldenTokenizer, StreamsAreReusableAfterFinish) {
  const Golden golden = read_golden(GetParam());
  ASSERT_NE(golden.tokenizer, nullptr);
  TokenStream stream(*golden.tokenizer, false);
  for (const auto& item : golden.vectors["decode"]) {
    std::string text;
    for (const TokenId id : item["ids"].get<std::vector<TokenId>>()) text += stream.push(id);
    EXPECT_EQ(text + stream.finish(), item["text"].get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTokenizer,
                         ::testing::Values("laguna", "granite", "gpt2-prefix-space", "llama3",
                                           "cased-regex", "sentencepiece", "metaspace-first",
                                           "metaspace-always", "accents", "compatibility",
                                           "affixes", "no-unknown", "byte-level-normalizer",
                                           "flags", "behaviors", "laguna-tiny"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(GoldenTokenizers, EveryStoredFolderIsTested) {
  size_t folders = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::repo_dir() / "tests/golden/tokenizer")) {
    folders += entry.is_directory() ? 1 : 0;
  }
  EXPECT_EQ(folders, 16u);
}

}  // namespace
}  // namespace spindrift
