#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tokenizer/decoder.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

std::string lossy(std::string_view bytes) {
  std::string out;
  append_lossy(bytes, true, out);
  return out;
}

TEST(Utf8, EachMaximalInvalidPartBecomesOneReplacement) {
  EXPECT_EQ(lossy("a\xff"
                  "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(lossy("\xe2\x82"), "\uFFFD");
  EXPECT_EQ(lossy("\xe2\x82"
                  "a"),
            "\uFFFD"
            "a");
  EXPECT_EQ(lossy("\xf0\x9f\x98"), "\uFFFD");
  EXPECT_EQ(lossy("\xc0\xaf"), "\uFFFD\uFFFD");
  EXPECT_EQ(lossy("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(lossy("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(lossy("\xf0\x80\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(lossy("\U0001F600\u00e9"), "\U0001F600\u00e9");
}

TEST(Utf8, AnIncompleteTailIsHeldBackUntilItIsFinal) {
  std::string out;
  EXPECT_EQ(append_lossy("a\xf0\x9f", false, out), 1u);
  EXPECT_EQ(out, "a");
}

TEST(Utf8, MessagesStayOnOneLine) {
  EXPECT_EQ(in_quotes("a\nb\x7f"), "\"a\\x0ab\\x7f\"");
  EXPECT_LT(in_quotes(std::string(1000, 'x')).size(), 100u);
}

std::vector<std::string> cut(std::string_view text, SplitBehavior behavior) {
  const SplitStage stage(make_literal_pattern("-"), behavior, false);
  Pieces pieces{std::string(text), {{0, text.size()}}, true};
  EXPECT_TRUE(stage.apply(pieces).ok());
  std::vector<std::string> out;
  for (const Span& span : pieces.spans)
    out.push_back(pieces.text.substr(span.begin, span.end - span.begin));
  return out;
}

TEST(Split, EveryBehaviourTreatsMatchesItsOwnWay) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(cut("the-final--countdown", SplitBehavior::kIsolated),
            (Strings{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(cut("the-final--countdown", SplitBehavior::kRemoved),
            (Strings{"the", "final", "countdown"}));
  EXPECT_EQ(cut("the-final--countdown", SplitBehavior::kMergedWithPrevious),
            (Strings{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(cut("the-final--countdown", SplitBehavior::kMergedWithNext),
            (Strings{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(cut("the-final--countdown", SplitBehavior::kContiguous),
            (Strings{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(cut("--", SplitBehavior::kRemoved), Strings{});
}

std::string normalized(std::unique_ptr<Normalizer> stage, std::string text) {
  NormalizedText out{std::move(text), true};
  EXPECT_TRUE(stage->apply(out).ok());
  return out.text;
}

TEST(Normalizer, UnicodeFormsComposeDecomposeAndOrder) {
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfc), "e\u0301"), "\u00e9");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfd), "\u00e9\uac01"),
            "e\u0301\u1100\u1161\u11a8");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfkc), "\ufb01\u2460"), "fi1");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfd), "a\u0345\u0301\u0323"),
            "a\u0323\u0301\u0345");
}

TEST(Normalizer, CodePointsNewerThanThePackageStayAsTheyAre) {
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfkc), "\u32ff\ua7f2"),
            "\u32ff\ua7f2");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfc), "\U00011935\U00011930"),
            "\U00011935\U00011930");
}

TEST(Normalizer, AHundredThousandMarksOnOneLetterTakeNoQuadraticTime) {
  std::string text = "a";
  for (int i = 0; i < 50000; ++i) text += "\u0345\u0323";
  const std::string out = normalized(make_unicode_normalizer(UnicodeForm::kNfc), text);
  EXPECT_TRUE(out.starts_with("\u1ea1\u0323"));
}

TEST(Normalizer, LowercaseIsRusts) {
  EXPECT_EQ(normalized(make_lowercase_normalizer(), "\u0130\u03a3\u1c89"), "i\u0307\u03c3\u1c8a");
}

// Runs tokens through one stage and marks where each token that comes out ends.
class MarkingSink : public DecodeSink {
 public:
  void text(std::string_view part) override { out += part; }
  void end_token() override { out += '|'; }
  void finish() override { out += '.'; }
  std::string out;
};

std::string decoded(const DecoderStage& stage, const std::vector<std::string>& tokens) {
  MarkingSink sink;
  const auto run = stage.open(sink);
  for (const std::string& token : tokens) {
    run->text(token);
    run->end_token();
  }
  run->finish();
  return sink.out;
}

ConfigNode strip_config(int64_t start, int64_t stop) {
  ConfigNode node;
  node.kind = ConfigNode::Kind::kObject;
  const auto add = [&](const char* key, ConfigNode value) {
    node.members.push_back({key, std::move(value)});
  };
  ConfigNode content;
  content.kind = ConfigNode::Kind::kString;
  content.text = "_";
  add("content", content);
  for (const auto& [key, count] : {std::pair("start", start), std::pair("stop", stop)}) {
    ConfigNode number;
    number.kind = ConfigNode::Kind::kInteger;
    number.integer = count;
    add(key, number);
  }
  return node;
}

TEST(Decoder, StripTakesUpToSoManyFromEachEndOfEachToken) {
  const auto leading = make_strip_decoder(strip_config(1, 0));
  ASSERT_TRUE(leading.ok());
  EXPECT_EQ(decoded(*leading.value(), {"__a_", "b", "_", ""}), "_a_|b|||.");
  const auto trailing = make_strip_decoder(strip_config(0, 2));
  ASSERT_TRUE(trailing.ok());
  EXPECT_EQ(decoded(*trailing.value(), {"a___", "_b_c", "__"}), "a_|_b_c||.");
}

TEST(Decoder, ByteFallbackDecidesOverAWholeRun) {
  const auto stage = make_byte_fallback_decoder();
  EXPECT_EQ(decoded(*stage, {"<0xE2>", "<0x82>", "<0xAC>", "x"}), "\u20ac|x|.");
  EXPECT_EQ(decoded(*stage, {"<0x41>", "<0xE2>", "x"}), "\uFFFD|\uFFFD|x|.");
  EXPECT_EQ(decoded(*stage, {"<0xG1>", "<0x411>"}), "<0xG1>|<0x411>|.");
}

TEST(Decoder, ByteLevelTreatsATokenOutsideTheAlphabetAsText) {
  const auto stage = make_byte_level_decoder();
  EXPECT_EQ(decoded(*stage, {"\u0120a", "\u00c3", "\u00a9", "\u3008|\u0120"}),
            " a\u00e9\u3008|\u0120|.");
  EXPECT_EQ(decoded(*stage, {"\u00c3"}), "\uFFFD|.");
}

}  // namespace
}  // namespace spindrift
