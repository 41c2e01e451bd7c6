#include "server/completion_request.h"

#include <gtest/gtest.h>

#include <string>

namespace spindrift::server {
namespace {

const GenerationDefaults& defaults() {
  static const GenerationDefaults kDefaults = [] {
    GenerationDefaults out;
    out.sampling.temperature = 0.7F;
    out.sampling.top_k = 20;
    out.max_new_tokens = 99;
    out.stop_ids = {2, 24};
    return out;
  }();
  return kDefaults;
}
RequestContext context() { return {.defaults = defaults(), .vocab = 100, .draft_depth = 11}; }

ChatFields chat(const std::string& fields) {
  auto read = read_chat_fields(R"({"messages": [])" + fields + "}", context());
  if (const auto* error = std::get_if<ApiError>(&read)) ADD_FAILURE() << error->message;
  return std::get<ChatFields>(std::move(read));
}

std::string param(const std::string& fields) {
  auto read = read_chat_fields(R"({"messages": [])" + fields + "}", context());
  const auto* error = std::get_if<ApiError>(&read);
  return error == nullptr ? "nothing refused" : error->param;
}

TEST(ChatFields, WhatIsLeftOutOrNullTakesTheModelsDefaults) {
  for (const char* fields : {"", R"(, "temperature": null, "top_k": null, "max_tokens": null)"}) {
    const CommonFields common = chat(fields).common;
    EXPECT_EQ(common.sampling, defaults().sampling);
    EXPECT_EQ(common.stop.max_new_tokens, 99);
    EXPECT_EQ(common.stop.ids, defaults().stop_ids);
    EXPECT_EQ(common.choices, 1);
    EXPECT_FALSE(common.stream);
  }
}

TEST(ChatFields, SeedsAreAny64Bits) {
  EXPECT_EQ(chat(R"(, "seed": 18446744073709551615)").common.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(chat(R"(, "seed": -1)").common.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(chat(R"(, "seed": 0)").common.sampling.seed, 0U);
  EXPECT_EQ(param(R"(, "seed": 18446744073709551616)"), "seed");
  EXPECT_EQ(param(R"(, "seed": 1.5)"), "seed");
}

TEST(ChatFields, BiasesNameIdsOfTheVocabulary) {
  const auto bias = chat(R"(, "logit_bias": {"5": -100, "99": 1.5})").common.sampling.bias;
  ASSERT_EQ(bias.size(), 2U);
  EXPECT_EQ(bias[1], (LogitBias{.id = 99, .bias = 1.5F}));
  for (const char* wrong : {R"({"100": 1})", R"({"-1": 1})", R"({"5x": 1})", R"({"5": 100.5})",
                            R"({"5": "1"})", R"([1])"})
    EXPECT_EQ(param(std::string(R"(, "logit_bias": )") + wrong), "logit_bias") << wrong;
}

TEST(ChatFields, AnIdOfABiasHasOneSpelling) {
  EXPECT_EQ(chat(R"(, "logit_bias": {"0": 1})").common.sampling.bias.size(), 1U);
  for (const char* id : {"05", "00", "-0", "+5", " 5", "5 ", "5.0", "0x5", "5e0", "", "\\u0665",
                         "99999999999999999999"})
    EXPECT_EQ(param(R"(, "logit_bias": {")" + std::string(id) + R"(": 1})"), "logit_bias") << id;
}

TEST(ChatFields, StopsAreBoundedInNumberAndLength) {
  const std::string longest(1024, 'x');
  EXPECT_EQ(chat(R"(, "stop": ")" + longest + R"(")").common.stop.texts.size(), 1U);
  EXPECT_EQ(param(R"(, "stop": ")" + longest + R"(x")"), "stop");
  EXPECT_EQ(param(R"(, "stop": ["a", ")" + longest + R"(x"])"), "stop");
}

TEST(ChatFields, AMessageDoesNotRepeatMegabytes) {
  const std::string body =
      R"({"messages": [], "response_format": {"type": ")" + std::string(1 << 20, 'x') + R"("}})";
  const auto read = read_chat_fields(body, context());
  EXPECT_LT(error_json(std::get<ApiError>(read)).size(), 2000U);
}

TEST(ChatFields, TheNewerNameOfTheLimitWins) {
  EXPECT_EQ(chat(R"(, "max_completion_tokens": 5, "max_tokens": 7)").common.stop.max_new_tokens, 5);
}

TEST(ChatFields, ToolsAndOtherTemplateVariablesKeepTheirSpelling) {
  const ChatFields fields =
      chat(R"(, "tools": [{"type":"function","function":{"name":"f","x":1.0,"a":1}}],)"
           R"( "chat_template_kwargs": {"enable_thinking": true, "y": [1.50, "z"]})");
  EXPECT_EQ(fields.tools_json, R"([{"type":"function","function":{"name":"f","x":1.0,"a":1}}])");
  EXPECT_EQ(fields.enable_thinking, true);
  ASSERT_EQ(fields.template_variables.size(), 1U);
  EXPECT_EQ(fields.template_variables[0].second, R"([1.50,"z"])");
}

TEST(ChatFields, DraftWidthsAreClampedToTheDrafter) {
  EXPECT_EQ(chat(R"(, "draft_tokens": 500)").common.draft.tokens, 11);
  EXPECT_EQ(chat(R"(, "draft_tokens": 0)").common.draft.mode, DraftWidth::Mode::kOff);
  EXPECT_EQ(chat(R"(, "draft_tokens": "auto")").common.draft.mode, DraftWidth::Mode::kAuto);
}

TEST(TextFields, PromptsComeInFourForms) {
  const auto prompts = [](const std::string& json) {
    auto read = read_text_fields(R"({"prompt": )" + json + "}", context());
    return std::holds_alternative<TextFields>(read) ? std::get<TextFields>(read).prompts
                                                    : decltype(TextFields::prompts){};
  };
  EXPECT_EQ(std::get<std::string>(prompts(R"("a")").at(0)), "a");
  EXPECT_EQ(prompts(R"(["a", "b"])").size(), 2U);
  EXPECT_EQ(std::get<1>(prompts("[1, 2]").at(0)), (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(std::get<1>(prompts("[[1], [2, 3]]").at(1)), (std::vector<TokenId>{2, 3}));
  for (const char* wrong : {"[]", "null", "[1, \"a\"]", "[[1], 2]", "[4294967296]", "{}"})
    EXPECT_TRUE(prompts(wrong).empty()) << wrong;
}

}  // namespace
}  // namespace spindrift::server
