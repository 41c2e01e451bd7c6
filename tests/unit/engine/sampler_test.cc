#include "engine/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "engine/fixed_math.h"
#include "engine/philox.h"

namespace spindrift {
namespace {

TokenId draw(const std::vector<float>& logits, const SamplingParams& params,
             const std::vector<TokenId>& history = {}) {
  SamplerScratch scratch;
  Result<TokenId> token = sample(logits, params, history, scratch);
  EXPECT_TRUE(token.ok());
  return token.ok() ? token.value() : -1;
}

// How often each id is drawn over `n` positions.
std::map<TokenId, int> histogram(const std::vector<float>& logits, const SamplingParams& params,
                                 int n) {
  SamplerScratch scratch;
  std::map<TokenId, int> counts;
  std::vector<TokenId> history;
  for (int i = 0; i < n; ++i) {
    ++counts[sample(logits, params, history, scratch).value()];
    history.push_back(0);
  }
  return counts;
}

TEST(Philox, GivesThePublishedVectors) {
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(FixedMath, ExpAndLogAgreeWithLibmToRounding) {
  EXPECT_EQ(fixed_exp(0.0), 1.0);
  EXPECT_EQ(fixed_exp(-std::numeric_limits<double>::infinity()), 0.0);
  for (double x = -700; x <= 0; x += 0.37) EXPECT_NEAR(fixed_exp(x) / std::exp(x), 1.0, 4e-16) << x;
  for (double x = 1e-8; x < 1e9; x *= 1.7)
    EXPECT_NEAR(fixed_log(x), std::log(x), 4e-16 * std::max(1.0, std::fabs(std::log(x)))) << x;
}

TEST(Sampler, GreedyTakesTheLargestLogitAndTheLowestIdOfATie) {
  EXPECT_EQ(draw({1.0F, 3.0F, 2.0F, 3.0F}, {}), 1);
}

TEST(Sampler, ABiasIsAddedBeforeThePenaltyAndMovesTheGreedyChoice) {
  const std::vector<float> logits = {1.0F, 3.0F, 2.0F};
  EXPECT_EQ(draw(logits, {.bias = {{.id = 0, .bias = 2.5F}}}), 0);
  EXPECT_EQ(draw(logits, {.bias = {{.id = 1, .bias = -100.0F}}}), 2);
  // (1 + 2.5) / 2 < 2: had the penalty come first, 1 / 2 + 2.5 would have won.
  EXPECT_EQ(draw(logits, {.repetition_penalty = 2.0F, .bias = {{.id = 0, .bias = 2.5F}}}, {0, 1}),
            2);
  EXPECT_EQ(draw(logits, {.bias = {{.id = 7, .bias = 100.0F}}}), 1);  // beyond the row
}

TEST(Sampler, ABiasOfZeroOnEveryTokenChangesNoDraw) {
  const std::vector<float> logits = {0.3F, -1.0F, 2.0F, 0.0F};
  SamplingParams plain{.temperature = 0.9F};
  SamplingParams biased = plain;
  for (TokenId id = 0; id < 4; ++id) biased.bias.push_back({.id = id, .bias = 0.0F});
  EXPECT_EQ(histogram(logits, plain, 200), histogram(logits, biased, 200));
}

TEST(Sampler, TheSameKeyGivesTheSameTokenAndPositionOrStreamOrSeedAnother) {
  const std::vector<float> logits(64, 0.0F);
  const std::vector<TokenId> history(7, 0);
  const SamplingParams base{.temperature = 1.0F, .seed = 42};
  const TokenId token = draw(logits, base, history);
  EXPECT_EQ(draw(logits, base, history), token);
  int same_position = 0;
  int same_stream = 0;
  int same_seed = 0;
  for (uint32_t i = 1; i <= 20; ++i) {
    same_position += draw(logits, base, std::vector<TokenId>(7 + i, 0)) == token ? 1 : 0;
    same_stream += draw(logits, {.temperature = 1.0F, .seed = 42, .stream = i}, history) == token;
    same_seed +=
        draw(logits, {.temperature = 1.0F, .seed = 42 + (uint64_t{i} << 32U)}, history) == token;
  }
  EXPECT_LT(same_position, 5);
  EXPECT_LT(same_stream, 5);
  EXPECT_LT(same_seed, 5);
}

TEST(Sampler, FrequenciesFollowTheSoftmaxAtEachTemperature) {
  const std::vector<float> logits = {0.0F, 1.0F, 2.0F, -1.0F};
  for (const float t : {0.5F, 1.0F, 2.0F}) {
    constexpr int kDraws = 40000;
    auto counts = histogram(logits, {.temperature = t, .seed = 3}, kDraws);
    double total = 0;
    for (const float l : logits) total += std::exp(l / t);
    for (size_t id = 0; id < logits.size(); ++id) {
      const double p = std::exp(logits[id] / t) / total;
      const double sigma = std::sqrt(p * (1 - p) * kDraws);
      EXPECT_NEAR(counts[static_cast<TokenId>(id)], p * kDraws, 5 * sigma) << t << ' ' << id;
    }
  }
}

TEST(Sampler, TopKKeepsExactlyKAndTiesGoToTheLowestIds) {
  const std::vector<float> logits = {1.0F, 1.0F, 0.0F, 1.0F, 1.0F};
  const auto counts = histogram(logits, {.temperature = 1.0F, .top_k = 3}, 500);
  EXPECT_EQ(counts.size(), 3U);
  EXPECT_TRUE(counts.contains(0) && counts.contains(1) && counts.contains(3));
}

TEST(Sampler, TopPKeepsTheFewestTokensThatHoldTheMass) {
  const std::vector<float> logits = {std::log(0.1F), std::log(0.5F), std::log(0.15F),
                                     std::log(0.25F)};
  EXPECT_EQ(histogram(logits, {.temperature = 1.0F, .top_p = 0.49F}, 300).size(), 1U);
  EXPECT_EQ(histogram(logits, {.temperature = 1.0F, .top_p = 0.7F}, 300).size(), 2U);
  EXPECT_EQ(histogram(logits, {.temperature = 1.0F, .top_p = 0.8F}, 300).size(), 3U);
  EXPECT_EQ(histogram(logits, {.temperature = 1.0F, .top_p = 0.0F}, 300).size(), 1U);
}

TEST(Sampler, TopPCountsMassAfterTopK) {
  const std::vector<float> logits = {std::log(0.4F), std::log(0.3F), std::log(0.2F),
                                     std::log(0.1F)};
  // Of the two likeliest alone the first holds 4/7, more than 0.55; of all four it holds 0.4.
  EXPECT_EQ(histogram(logits, {.temperature = 1.0F, .top_k = 2, .top_p = 0.55F}, 300).size(), 1U);
  EXPECT_EQ(histogram(logits, {.temperature = 1.0F, .top_p = 0.55F}, 300).size(), 2U);
}

TEST(Sampler, TopPOverAWideFlatRowNeedsManyTokens) {
  const std::vector<float> logits(3000, 0.25F);
  const auto counts = histogram(logits, {.temperature = 1.0F, .top_p = 0.5F}, 3000);
  EXPECT_LT(counts.rbegin()->first, 1501);
  EXPECT_GT(counts.rbegin()->first, 1400);
}

TEST(Sampler, MinPDropsTokensBelowAShareOfTheLikeliest) {
  const std::vector<float> logits = {std::log(0.5F), std::log(0.06F), std::log(0.04F),
                                     std::log(0.4F)};
  const auto counts = histogram(logits, {.temperature = 1.0F, .min_p = 0.1F}, 2000);
  EXPECT_EQ(counts.size(), 3U);
  EXPECT_FALSE(counts.contains(2));
}

TEST(Sampler, FiltersThatKeepEverythingChangeNoToken) {
  std::vector<float> logits;
  for (int i = 0; i < 700; ++i) logits.push_back(static_cast<float>((i * 37) % 101) * 0.05F);
  SamplerScratch scratch;
  std::vector<TokenId> history;
  for (int i = 0; i < 200; ++i) {
    const auto plain = sample(logits, {.temperature = 0.9F, .seed = 5}, history, scratch).value();
    const SamplingParams wide{.temperature = 0.9F, .top_k = 700, .min_p = 1e-30F, .seed = 5};
    EXPECT_EQ(sample(logits, wide, history, scratch).value(), plain);
    history.push_back(plain);
  }
}

TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegativeLogitsOnce) {
  // 4 / 2 = 2 < 3; counted twice it would fall below 1.5 as well.
  EXPECT_EQ(draw({4.0F, 3.0F, 1.5F}, {.repetition_penalty = 2.0F}, {0}), 1);
  EXPECT_EQ(draw({4.0F, 1.9F, 1.5F}, {.repetition_penalty = 2.0F}, {0, 0, 0}), 0);
  // -1 * 2 = -2 < -1.5.
  EXPECT_EQ(draw({-1.0F, -1.5F}, {.repetition_penalty = 2.0F}, {0}), 1);
}

TEST(Sampler, TheScratchCarriesNothingFromOneRowToTheNext) {
  SamplerScratch scratch;
  const SamplingParams penalised{.repetition_penalty = 2.0F};
  const std::vector<float> logits = {4.0F, 3.0F, 1.0F};
  const std::vector<TokenId> first = {0};
  const std::vector<TokenId> second = {1};
  EXPECT_EQ(sample(logits, penalised, first, scratch).value(), 1);
  EXPECT_EQ(sample(logits, penalised, second, scratch).value(), 0);
}

TEST(Sampler, ALogitThatIsNotFiniteIsAnErrorThatNamesPositionAndId) {
  SamplerScratch scratch;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0.0F, bad, 1.0F};
    const std::vector<TokenId> history(12, 0);
    const auto token = sample(logits, {}, history, scratch);
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(token.error().code, ErrorCode::kCorrupt);
    EXPECT_THAT(token.error().message, testing::HasSubstr("position 12, token id 1"));
  }
}

TEST(Sampler, ExtremeTemperaturesStayExact) {
  EXPECT_EQ(draw({1.0F, 1.0001F, 0.5F}, {.temperature = 1e-30F}), 1);
  EXPECT_EQ(histogram({0.0F, 50.0F}, {.temperature = 1e30F}, 200).size(), 2U);
}

TEST(Sampler, ParametersOutOfRangeAreNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<SamplingParams, std::string>> cases = {
      {{.temperature = -0.1F}, "temperature"},
      {{.temperature = nan}, "temperature"},
      {{.top_k = -1}, "top_k"},
      {{.top_p = 1.5F}, "top_p"},
      {{.top_p = nan}, "top_p"},
      {{.min_p = -0.5F}, "min_p"},
      {{.repetition_penalty = 0.0F}, "repetition_penalty"}};
  for (const auto& [params, word] : cases) {
    const Status status = validate(params);
    ASSERT_FALSE(status.ok()) << word;
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
    EXPECT_THAT(status.error().message, testing::HasSubstr(word));
  }
  EXPECT_TRUE(validate(SamplingParams{.temperature = 1.5F, .top_k = 20, .top_p = 0.9F}).ok());
}

TEST(Logprobs, AreTheLogSoftmaxAndListTheLikeliestFirst) {
  const std::vector<float> logits = {std::log(0.2F), std::log(0.5F), std::log(0.1F),
                                     std::log(0.2F)};
  const Logprobs p = logprobs(logits, 2, 3);
  EXPECT_NEAR(p.chosen, std::log(0.1), 1e-6);
  ASSERT_EQ(p.top.size(), 3U);
  EXPECT_EQ(p.top[0].id, 1);
  EXPECT_EQ(p.top[1].id, 0);
  EXPECT_EQ(p.top[2].id, 3);
  EXPECT_NEAR(p.top[0].logprob, std::log(0.5), 1e-6);
}

}  // namespace
}  // namespace spindrift
