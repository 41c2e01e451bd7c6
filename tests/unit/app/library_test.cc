#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "spindrift/spindrift.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string folder(const char* name) { return (testing::repo_dir() / "models" / name).string(); }

Model load(bool drafter) {
  auto model = Model::load({.model = folder("laguna-tiny-nvfp4"),
                            .draft_model = drafter ? folder("laguna-tiny-dflash") : "",
                            .threads = 1});
  EXPECT_TRUE(bool(model)) << (model ? "" : model.error().message);
  return std::move(*model);
}

const std::array kQuestion = {
    ChatMessage{.role = "user", .content = "Write a function that adds two numbers."}};

TEST(Library, AChatStreamsItsAnswerAndADrafterChangesNothing) {
  Model plain = load(false);
  Model drafted = load(true);
  std::string streamed;
  const auto answer = drafted.chat(kQuestion, {.on_text = [&](std::string_view piece) {
                                     streamed += piece;
                                     return true;
                                   }});
  const auto expected = plain.chat(kQuestion);
  ASSERT_TRUE(answer && expected);
  EXPECT_THAT(answer->text, HasSubstr("def "));
  EXPECT_EQ(streamed, answer->text);
  EXPECT_EQ(answer->finish_reason, "stop");
  EXPECT_EQ(answer->ledger_digest, expected->ledger_digest);
  EXPECT_EQ(answer->token_ids, expected->token_ids);
  EXPECT_EQ(answer->prompt_ids.front(), 2);
  EXPECT_GT(answer->accepted, 0);
  EXPECT_EQ(expected->drafted, 0);
}

TEST(Library, TheNextTurnReadsOnlyWhatIsNew) {
  Model model = load(true);
  std::vector<ChatMessage> turns(kQuestion.begin(), kQuestion.end());
  const auto first = model.chat(turns);
  ASSERT_TRUE(bool(first));
  EXPECT_EQ(first->reused_tokens, 0);
  turns.push_back({.role = "assistant", .content = first->text});
  turns.push_back({.role = "user", .content = "Now write a test for it."});
  const auto second = model.chat(turns);
  ASSERT_TRUE(bool(second));
  EXPECT_GE(second->reused_tokens, std::ssize(first->prompt_ids));
  model.forget();
  const auto again = model.chat(turns);
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(again->reused_tokens, 0);
  EXPECT_EQ(again->ledger_digest, second->ledger_digest);
}

TEST(Library, TheCallersFalseEndsTheRun) {
  Model model = load(false);
  const auto out =
      model.generate("def add(a, b):", {.max_new_tokens = 200,
                                        .ignore_eos = true,
                                        .on_text = [](std::string_view) { return false; }});
  ASSERT_TRUE(bool(out));
  EXPECT_EQ(out->finish_reason, "interrupted");
  EXPECT_LT(out->token_ids.size(), 20U);
}

TEST(Library, AChatInJsonIsTheSameChatAndMayCallTools) {
  Model model = load(true);
  const auto plain = model.chat(kQuestion);
  const auto json = model.chat_json(
      R"([{"role": "user", "content": "Write a function that adds two numbers."}])");
  ASSERT_TRUE(plain && json);
  EXPECT_EQ(json->ledger_digest, plain->ledger_digest);
  const auto call = model.chat_json(
      R"([{"role": "user", "content": "Set a timer for 12 minutes."}])",
      R"([{"type": "function", "function": {"name": "set_timer", "description": "Set a timer.",
          "parameters": {"type": "object", "properties": {"minutes": {"type": "integer"}},
                         "required": ["minutes"]}}}])");
  ASSERT_TRUE(bool(call));
  EXPECT_THAT(call->tool_calls_json, HasSubstr("set_timer"));
  EXPECT_THAT(call->tool_calls_json, HasSubstr("12"));
  EXPECT_THAT(call->text, Not(HasSubstr("tool_call")));
  const auto bad = model.chat_json("{}");
  ASSERT_FALSE(bool(bad));
  EXPECT_EQ(bad.error().kind, Failure::Kind::kUsage) << bad.error().message;
}

TEST(Library, ALoadedModelTellsItsWarnings) {
  const Model model = load(true);
  EXPECT_TRUE(model.warnings().empty());
}

TEST(Library, LimitsOfAModelAreKept) {
  auto model = Model::load(
      {.model = folder("laguna-tiny-nvfp4"), .threads = 1, .context = 24, .kv_bf16 = true});
  ASSERT_TRUE(bool(model));
  const auto out = model->generate("def add(a, b):", {.ignore_eos = true});
  ASSERT_TRUE(bool(out));
  EXPECT_EQ(out->finish_reason, "length");
  EXPECT_EQ(out->prompt_ids.size() + out->token_ids.size(), 24U);
  auto small = Model::load({.model = folder("laguna-tiny-nvfp4"), .threads = 1, .memory_limit = 1});
  ASSERT_TRUE(bool(small));
  const auto refused = small->generate("def add(a, b):");
  ASSERT_FALSE(bool(refused));
  EXPECT_EQ(refused.error().kind, Failure::Kind::kLimit) << refused.error().message;
}

TEST(Library, FailuresSayWhoseFaultItIs) {
  const auto missing = Model::load({.model = folder("no-such-model")});
  ASSERT_FALSE(bool(missing));
  EXPECT_EQ(missing.error().kind, Failure::Kind::kModel);
  EXPECT_THAT(missing.error().message, HasSubstr("no-such-model"));
  Model model = load(false);
  const auto usage = model.generate("x", {.temperature = -1.0F});
  ASSERT_FALSE(bool(usage));
  EXPECT_EQ(usage.error().kind, Failure::Kind::kUsage);
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "word ";
  const auto limit = model.generate(text, {.max_new_tokens = 1});
  ASSERT_FALSE(bool(limit));
  EXPECT_EQ(limit.error().kind, Failure::Kind::kLimit);
}

}  // namespace
}  // namespace spindrift
