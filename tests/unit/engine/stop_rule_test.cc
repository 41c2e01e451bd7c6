#include "engine/stop_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

// Token id -> fixed text; finish() gives `tail`.
class Pieces final : public TextDecoder {
 public:
  explicit Pieces(std::vector<std::string> texts, std::string tail = "")
      : texts_(std::move(texts)), tail_(std::move(tail)) {}
  std::string push(TokenId id) override { return texts_.at(static_cast<size_t>(id)); }
  std::string finish() override { return tail_; }

 private:
  std::vector<std::string> texts_;
  std::string tail_;
};

struct Heard {
  std::vector<std::string> pieces;
  std::string text;
  StopReason reason = StopReason::kNone;
  int64_t tokens = 0;
};

Heard run(StopRule& rule, const std::vector<TokenId>& ids) {
  Heard out;
  for (const TokenId id : ids) {
    std::string piece;
    out.reason = rule.push(id, piece);
    out.pieces.push_back(piece);
    out.text += piece;
    ++out.tokens;
    if (out.reason != StopReason::kNone) break;
  }
  out.text += rule.finish();
  return out;
}

std::unique_ptr<TextDecoder> letters() {
  return std::make_unique<Pieces>(std::vector<std::string>{"a", "b", "c", "EN", "D", "xENDx", ""});
}

TEST(StopRule, AStopIdEndsTheRunAndAddsNoText) {
  StopRule rule({.ids = {1, 2}}, 10, letters());
  const Heard out = run(rule, {0, 0, 2, 0});
  EXPECT_EQ(out.reason, StopReason::kStopId);
  EXPECT_EQ(out.tokens, 3);
  EXPECT_EQ(out.text, "aa");
}

TEST(StopRule, IgnoreEosLetsStopIdsPassAsText) {
  StopRule rule({.ids = {1}, .ignore_eos = true}, 3, letters());
  const Heard out = run(rule, {0, 1, 0});
  EXPECT_EQ(out.reason, StopReason::kLength);
  EXPECT_EQ(out.text, "aba");
}

TEST(StopRule, AStopTextAcrossTokensIsFoundAndCutOff) {
  StopRule rule({.texts = {"END"}}, 10, letters());
  const Heard out = run(rule, {0, 3, 4, 0});
  EXPECT_EQ(out.reason, StopReason::kStopText);
  EXPECT_EQ(out.tokens, 3);
  EXPECT_EQ(out.text, "a");
  EXPECT_EQ(rule.matched(), "END");
}

TEST(StopRule, TextIsHeldBackWhileAStopTextCouldStillComplete) {
  StopRule rule({.texts = {"END"}}, 10, letters());
  const Heard out = run(rule, {0, 3, 1, 0});
  EXPECT_THAT(out.pieces, testing::ElementsAre("a", "", "ENb", "a"));
}

TEST(StopRule, AStopTextInsideOneTokenKeepsWhatStandsBefore) {
  StopRule rule({.texts = {"zzz", "END"}}, 10, letters());
  EXPECT_EQ(run(rule, {0, 5}).text, "ax");
}

TEST(StopRule, OfSeveralStopTextsTheEarliestInTheTextCuts) {
  StopRule rule({.texts = {"NDx", "xE"}}, 10, letters());
  EXPECT_EQ(run(rule, {0, 5}).text, "a");
}

TEST(StopRule, ASelfOverlappingStopTextIsNotMissed) {
  StopRule rule({.texts = {"aab"}}, 10, letters());
  const Heard out = run(rule, {0, 0, 0, 1});
  EXPECT_EQ(out.reason, StopReason::kStopText);
  EXPECT_EQ(out.text, "a");
}

TEST(StopRule, TheEndReleasesHeldTextAndTheDecodersTail) {
  StopRule rule({.texts = {"END"}}, 2,
                std::make_unique<Pieces>(std::vector<std::string>{"a", "EN"}, "?"));
  const Heard out = run(rule, {0, 1});
  EXPECT_EQ(out.reason, StopReason::kLength);
  EXPECT_EQ(out.text, "aEN?");
}

TEST(StopRule, AStopIdOnTheLastTokenAllowedCountsAsStop) {
  StopRule rule({.ids = {1}}, 2, letters());
  EXPECT_EQ(run(rule, {0, 1}).reason, StopReason::kStopId);
}

TEST(StopRule, WithoutADecoderOnlyIdsAndLengthStop) {
  StopRule rule({.ids = {7}}, 3, nullptr);
  const Heard out = run(rule, {0, 1, 2});
  EXPECT_EQ(out.reason, StopReason::kLength);
  EXPECT_EQ(out.text, "");
}

TEST(StopRule, AnEmptyStopTextANegativeLimitOrTextWithoutADecoderAreRefused) {
  EXPECT_EQ(validate({.texts = {""}}, true).error().code, ErrorCode::kUsage);
  EXPECT_EQ(validate({.texts = {"x"}}, false).error().code, ErrorCode::kUsage);
  EXPECT_EQ(validate({.max_new_tokens = -1}, true).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(validate({.ids = {1}, .texts = {"x"}, .max_new_tokens = 0}, true).ok());
}

}  // namespace
}  // namespace spindrift
