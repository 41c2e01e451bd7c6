#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "support/temp_dir.h"
#include "tokenizer/tokenizer.h"

namespace spindrift {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json added(int id, const char* content, bool special = false) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", special}};
}

json small_tokenizer() {
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", {added(0, "<s>", true), added(6, "<t>")}},
          {"normalizer", nullptr},
          {"pre_tokenizer",
           {{"type", "Split"},
            {"pattern", {{"Regex", "\\s+"}}},
            {"behavior", "Isolated"},
            {"invert", false}}},
          {"post_processor",
           {{"type", "TemplateProcessing"},
            {"single",
             {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}},
              {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
            {"pair", json::array()},
            {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {0}}, {"tokens", {"<s>"}}}}}}}},
          {"decoder", {{"type", "Fuse"}}},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"vocab", {{"<s>", 0}, {"a", 1}, {"b", 2}, {"ab", 3}, {" ", 4}, {"c", 5}}},
            {"merges", {"a b"}}}}};
}

Result<std::shared_ptr<const Tokenizer>> parse(const json& file) {
  return Tokenizer::parse(file.dump(), "dir/tokenizer.json");
}

std::vector<TokenId> ids_of(const Tokenizer& tokenizer, std::string_view text,
                            EncodeOptions options = {}) {
  auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids.ok()) << (ids.ok() ? "" : ids.error().message);
  return ids.ok() ? ids.value() : std::vector<TokenId>{};
}

TEST(TokenizerLoad, TheSmallFileWorks) {
  const auto loaded = parse(small_tokenizer());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Tokenizer& t = *loaded.value();
  EXPECT_EQ(ids_of(t, "ab c<t>"), (std::vector<TokenId>{3, 4, 5, 6}));
  EXPECT_EQ(ids_of(t, "ab", {.add_special = true}), (std::vector<TokenId>{0, 3}));
  EXPECT_EQ(t.vocab_size(), 7);
  EXPECT_EQ(t.bos_text(), "<s>");
  EXPECT_EQ(t.bos_id(), std::optional<TokenId>(0));
  EXPECT_TRUE(t.is_special(0));
  EXPECT_FALSE(t.is_special(6));
  EXPECT_TRUE(t.is_added(6));
  EXPECT_FALSE(t.is_added(3));
  EXPECT_EQ(t.token_id("ab"), std::optional<TokenId>(3));
  EXPECT_EQ(t.token_id("zz"), std::nullopt);
  EXPECT_EQ(t.spelling(6), "<t>");
}

TEST(TokenizerLoad, BothMergesSpellingsMeanTheSame) {
  json file = small_tokenizer();
  file["model"]["merges"] = json::array({json::array({"a", "b"})});
  const auto loaded = parse(file);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(ids_of(*loaded.value(), "ab"), std::vector<TokenId>{3});
}

TEST(TokenizerLoad, IdsOutsideTheVocabularyStandForNothing) {
  const auto loaded = parse(small_tokenizer());
  ASSERT_TRUE(loaded.ok());
  const Tokenizer& t = *loaded.value();
  const std::vector<TokenId> ids{3, -1, 7, 2147483647, 5};
  EXPECT_EQ(t.decode(ids, false), "abc");
  EXPECT_EQ(t.bytes(-1), "");
  EXPECT_EQ(t.bytes(2147483647), "");
  EXPECT_EQ(t.spelling(-5), "");
  EXPECT_FALSE(t.has(7));
}

TEST(TokenizerLoad, InvalidUtf8CountsAsReplacementCharacters) {
  json file = small_tokenizer();
  file["model"]["vocab"]["\uFFFD"] = 6;
  file["added_tokens"] = {added(0, "<s>", true)};
  const auto loaded = parse(file);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(ids_of(*loaded.value(),
                   "a\xff\xe2\x82"
                   "b"),
            (std::vector<TokenId>{1, 6, 6, 2}));
}

TEST(TokenizerLoad, PlainTextIgnoresEveryAddedToken) {
  json file = small_tokenizer();
  file["model"]["vocab"]["<"] = 6;
  file["model"]["vocab"][">"] = 7;
  file["model"]["vocab"]["t"] = 8;
  file["added_tokens"][1]["id"] = 9;
  const auto loaded = parse(file);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(ids_of(*loaded.value(), "<t>"), std::vector<TokenId>{9});
  EXPECT_EQ(ids_of(*loaded.value(), "<t>", {.parse_special = false}),
            (std::vector<TokenId>{6, 8, 7}));
}

TEST(TokenizerLoad, TruncationAndPaddingHaveNoSay) {
  json file = small_tokenizer();
  file["truncation"] = {{"max_length", 1}};
  file["padding"] = {{"length", 4}};
  const auto loaded = parse(file);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(ids_of(*loaded.value(), "abab").size(), 2u);
}

struct Fault {
  const char* name;
  std::function<void(json&)> make;
  ErrorCode code;
  const char* says;
};

const Fault kFaults[] = {
    {"VersionTwo", [](json& f) { f["version"] = "2.0"; }, ErrorCode::kUnsupported,
     "version: expected \"1.0\""},
    {"UnknownRootKey", [](json& f) { f["frobnicate"] = 1; }, ErrorCode::kUnsupported,
     "unknown key \"frobnicate\""},
    {"NoModel", [](json& f) { f.erase("model"); }, ErrorCode::kInvalid,
     "model: expected an object"},
    {"Unigram", [](json& f) { f["model"]["type"] = "Unigram"; }, ErrorCode::kUnsupported,
     "model.type"},
    {"NoVocab", [](json& f) { f["model"].erase("vocab"); }, ErrorCode::kInvalid, "model.vocab"},
    {"VocabIdText", [](json& f) { f["model"]["vocab"]["a"] = "1"; }, ErrorCode::kInvalid,
     "model.vocab[\"a\"]"},
    {"VocabIdNegative", [](json& f) { f["model"]["vocab"]["a"] = -1; }, ErrorCode::kInvalid,
     "found -1"},
    {"VocabIdHuge", [](json& f) { f["model"]["vocab"]["a"] = 4000000000; }, ErrorCode::kInvalid,
     "found 4000000000"},
    {"VocabIdTwice", [](json& f) { f["model"]["vocab"]["a"] = 2; }, ErrorCode::kInvalid,
     "id 2 is already that of"},
    {"NoMerges", [](json& f) { f["model"].erase("merges"); }, ErrorCode::kInvalid, "model.merges"},
    {"MergeUnknown", [](json& f) { f["model"]["merges"] = {"a z"}; }, ErrorCode::kInvalid,
     "model.merges[0]: expected a token of the vocabulary, found \"z\""},
    {"MergeResultUnknown",
     [](json& f) {
       f["model"]["merges"] = {"a b", "b a"};
     },
     ErrorCode::kInvalid, "model.merges[1]"},
    {"MergeOneSide", [](json& f) { f["model"]["merges"] = {"ab"}; }, ErrorCode::kInvalid,
     "model.merges[0]"},
    {"MergeThreeSides",
     [](json& f) {
       f["model"]["merges"] = json::array({json::array({"a", "b", "c"})});
     },
     ErrorCode::kInvalid, "model.merges[0]"},
    {"Dropout", [](json& f) { f["model"]["dropout"] = 0.1; }, ErrorCode::kUnsupported,
     "model.dropout"},
    {"UnknownModelKey", [](json& f) { f["model"]["shine"] = true; }, ErrorCode::kUnsupported,
     "unknown key \"shine\" of \"BPE\""},
    {"UnkMissing", [](json& f) { f["model"]["unk_token"] = "<u>"; }, ErrorCode::kInvalid,
     "model.unk_token"},
    {"AddedIdElsewhere", [](json& f) { f["added_tokens"][1]["id"] = 1000000000; },
     ErrorCode::kInvalid, "added_tokens[1].id: expected 6"},
    {"AddedIdNegative", [](json& f) { f["added_tokens"][1]["id"] = -6; }, ErrorCode::kInvalid,
     "added_tokens[1].id"},
    {"AddedNoContent", [](json& f) { f["added_tokens"][1].erase("content"); }, ErrorCode::kInvalid,
     "added_tokens[1].content"},
    {"AddedUnknownKey", [](json& f) { f["added_tokens"][1]["x"] = 1; }, ErrorCode::kUnsupported,
     "unknown key \"x\""},
    {"AddedFlagText", [](json& f) { f["added_tokens"][1]["lstrip"] = "no"; }, ErrorCode::kInvalid,
     "added_tokens[1].lstrip"},
    {"AddedTooLong", [](json& f) { f["added_tokens"][1]["content"] = std::string(5000, 'x'); },
     ErrorCode::kLimit, "added_tokens[1].content"},
    {"Normalizer",
     [](json& f) {
       f["normalizer"] = {{"type", "Precompiled"}};
     },
     ErrorCode::kUnsupported, "unknown normalizer \"Precompiled\""},
    {"NormalizerKey",
     [](json& f) {
       f["normalizer"] = {{"type", "NFC"}, {"y", 1}};
     },
     ErrorCode::kUnsupported, "unknown key \"y\" of \"NFC\""},
    {"PreTokenizer", [](json& f) { f["pre_tokenizer"]["type"] = "Bert"; }, ErrorCode::kUnsupported,
     "unknown pre-tokenizer \"Bert\""},
    {"Behavior", [](json& f) { f["pre_tokenizer"]["behavior"] = "Sliced"; },
     ErrorCode::kUnsupported, "pre_tokenizer.behavior"},
    {"FaultyRegex", [](json& f) { f["pre_tokenizer"]["pattern"]["Regex"] = "(a"; },
     ErrorCode::kInvalid, "pre_tokenizer.pattern.Regex"},
    {"PatternKind",
     [](json& f) {
       f["pre_tokenizer"]["pattern"] = {{"Glob", "*"}};
     },
     ErrorCode::kUnsupported, "unknown key \"Glob\""},
    {"PostProcessor", [](json& f) { f["post_processor"]["type"] = "Magic"; },
     ErrorCode::kUnsupported, "unknown post-processor \"Magic\""},
    {"TemplateId", [](json& f) { f["post_processor"]["special_tokens"]["<s>"]["ids"] = {99}; },
     ErrorCode::kInvalid, "found 99"},
    {"TemplateName", [](json& f) { f["post_processor"]["special_tokens"] = json::object(); },
     ErrorCode::kInvalid, "special_tokens"},
    {"TemplateNoText", [](json& f) { f["post_processor"]["single"].erase(1); }, ErrorCode::kInvalid,
     "sequence A"},
    {"Decoder", [](json& f) { f["decoder"]["type"] = "CTC"; }, ErrorCode::kUnsupported,
     "unknown decoder \"CTC\""},
};

class TokenizerFault : public ::testing::TestWithParam<Fault> {};

TEST_P(TokenizerFault, IsRefusedNamingFileAndKeyOnOneLine) {
  json file = small_tokenizer();
  GetParam().make(file);
  const auto loaded = parse(file);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, GetParam().code) << loaded.error().message;
  EXPECT_THAT(loaded.error().message, HasSubstr("dir/tokenizer.json"));
  EXPECT_THAT(loaded.error().message, HasSubstr(GetParam().says));
  EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, TokenizerFault, ::testing::ValuesIn(kFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

TEST(TokenizerLoad, DeepNestingIsRefused) {
  std::string text = "{\"model\":";
  for (int i = 0; i < 5000; ++i) text += "[";
  EXPECT_FALSE(Tokenizer::parse(text, "f").ok());
  json nested = {{"type", "NFC"}};
  for (int i = 0; i < 40; ++i) nested = {{"type", "Sequence"}, {"normalizers", {nested}}};
  json file = small_tokenizer();
  file["normalizer"] = nested;
  EXPECT_FALSE(parse(file).ok());
}

TEST(TokenizerLoad, EveryTruncationOfTheFileIsRefused) {
  const std::string whole = small_tokenizer().dump();
  for (size_t length = 0; length < whole.size(); ++length) {
    ASSERT_FALSE(Tokenizer::parse(std::string_view(whole).substr(0, length), "f").ok()) << length;
  }
}

TEST(TokenizerLoad, AHostileExpressionFailsTheEncodingAndNotTheProgram) {
  json file = small_tokenizer();
  file["pre_tokenizer"]["pattern"]["Regex"] = "(a+a+)+b";
  const auto loaded = parse(file);
  ASSERT_TRUE(loaded.ok());
  const auto ids = loaded.value()->encode(std::string(60, 'a'));
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.error().code, ErrorCode::kLimit);
  EXPECT_THAT(ids.error().message,
              HasSubstr("a regular expression of the tokenizer failed on 60 bytes"));
}

TEST(SpecialTokens, ComeFromBothFilesInBothSpellings) {
  const testing::TempDir dir;
  dir.write("tokenizer.json", small_tokenizer().dump());
  dir.write(
      "tokenizer_config.json",
      R"({"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "<t>", "pad_token": null,
                "additional_special_tokens": ["<x>", {"content": "<y>"}]})");
  dir.write("special_tokens_map.json",
            R"({"eos_token": "other", "pad_token": "<p>", "unk_token": {"content": "?"}})");
  const auto loaded = Tokenizer::load(dir.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const SpecialTokens& special = loaded.value()->special_tokens();
  EXPECT_EQ(special.bos, "<s>");
  EXPECT_EQ(special.eos, "<t>");
  EXPECT_EQ(special.pad, "<p>");
  EXPECT_EQ(special.unk, "?");
  EXPECT_EQ(special.additional, (std::vector<std::string>{"<x>", "<y>"}));
}

TEST(SpecialTokens, AWrongKindIsRefusedByName) {
  const testing::TempDir dir;
  dir.write("tokenizer.json", small_tokenizer().dump());
  dir.write("tokenizer_config.json", R"({"bos_token": 7})");
  const auto loaded = Tokenizer::load(dir.path());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, HasSubstr("tokenizer_config.json: bos_token"));
}

TEST(TokenizerLoad, AMissingFileIsNotFound) {
  const testing::TempDir dir;
  const auto loaded = Tokenizer::load(dir.path());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
}

TEST(TokenizerLoad, BosComesFromTheConfigWhenThePostProcessorAddsNone) {
  json file = small_tokenizer();
  file["post_processor"] = nullptr;
  const testing::TempDir dir;
  dir.write("tokenizer.json", file.dump());
  dir.write("tokenizer_config.json", R"({"bos_token": "<t>"})");
  const auto loaded = Tokenizer::load(dir.path());
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded.value()->bos_text(), "<t>");
  EXPECT_EQ(loaded.value()->bos_id(), std::optional<TokenId>(6));
  EXPECT_EQ(ids_of(*loaded.value(), "a", {.add_special = true}), std::vector<TokenId>{1});
}

}  // namespace
}  // namespace spindrift
