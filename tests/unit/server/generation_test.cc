#include "server/generation.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "support/toy_target.h"

namespace spindrift::server {
namespace {

using namespace std::chrono_literals;
using spindrift::testing::ToyTarget;

// Every id is one letter.
class Letters final : public TextDecoder {
 public:
  std::string push(TokenId id) override { return {static_cast<char>('a' + id % 26)}; }
  std::string finish() override { return {}; }
};

Request request(uint64_t seed, int64_t tokens) {
  Request out;
  out.prompt = {3, 1, 4};
  out.sampling = {.temperature = 1.0F, .seed = seed};
  out.stop.max_new_tokens = tokens;
  out.text = std::make_unique<Letters>();
  return out;
}

class Generations : public ::testing::Test {
 protected:
  ToyTarget target_;
  Engine engine_{target_, nullptr, {}, {}};
  EngineThread thread_{engine_, {.max_queue = 8}};
  Metrics metrics_;
};

TEST_F(Generations, PiecesOfEveryAnswerJoinToItsOutcome) {
  Generation all(thread_, metrics_, Generation::Clock::now(),
                 {.keep_text = true, .keep_tokens = true});
  for (uint64_t a = 0; a < 4; ++a) ASSERT_TRUE(all.submit(request(a, 30)).ok());
  std::vector<std::string> texts(4);
  std::vector<std::vector<TokenId>> ids(4);
  std::vector<std::optional<Outcome>> outcomes(4);
  for (int ended = 0; ended < 4;) {
    all.wait(100ms);
    for (size_t a = 0; a < 4; ++a) {
      Progress more = all.take(a);
      for (const auto& text : more.texts) texts[a] += text.text;
      for (const auto& token : more.tokens) ids[a].push_back(token.id);
      if (!more.outcome) continue;
      outcomes[a] = std::move(more.outcome);
      ++ended;
    }
  }
  for (size_t a = 0; a < 4; ++a) {
    EXPECT_EQ(texts[a], outcomes[a]->text);
    EXPECT_EQ(ids[a], outcomes[a]->tokens);
    EXPECT_EQ(ids[a].size(), 30U);
  }
  EXPECT_TRUE(all.first_token_s().has_value());
}

TEST_F(Generations, LeavingEndsWhatRuns) {
  {
    Generation left(thread_, metrics_, Generation::Clock::now(), {.keep_text = true});
    for (uint64_t a = 0; a < 5; ++a) ASSERT_TRUE(left.submit(request(a, 400)).ok());
    left.wait(1000ms);
  }
  const std::string text = metrics_.text(nullptr);
  EXPECT_NE(text.find("spindrift_answers_total{reason=\"interrupted\"}"), std::string::npos)
      << text;
}

TEST_F(Generations, ARefusedAnswerIsTold) {
  Generation none(thread_, metrics_, Generation::Clock::now(), {});
  Request wrong = request(0, 3);
  wrong.prompt = {ToyTarget::kVocab};
  const Status status = none.submit(std::move(wrong));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
}

TEST_F(Generations, CountsReachTheMetrics) {
  {
    Generation one(thread_, metrics_, Generation::Clock::now(), {});
    ASSERT_TRUE(one.submit(request(0, 7)).ok());
    while (!one.take(0).outcome) one.wait(100ms);
  }
  const std::string text = metrics_.text(nullptr);
  EXPECT_NE(text.find("spindrift_generated_tokens_total 7"), std::string::npos) << text;
  EXPECT_NE(text.find("spindrift_answers_total{reason=\"length\"} 1"), std::string::npos);
  EXPECT_NE(text.find("spindrift_inter_token_seconds_count 6"), std::string::npos);
}

}  // namespace
}  // namespace spindrift::server
