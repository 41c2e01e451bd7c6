#include "app/generation_defaults.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace spindrift {
namespace {

class Defaults : public ::testing::Test {
 protected:
  Result<GenerationDefaults> load(std::string_view config, std::string_view generation) {
    temp_.write("config.json", config);
    if (!generation.empty()) temp_.write("generation_config.json", generation);
    return load_generation_defaults(temp_.path());
  }
  testing::TempDir temp_;
};

TEST_F(Defaults, AreGreedyWhenTheFilesSayNothing) {
  const auto out = load("{}", "");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.value().sampling.temperature, 0.0F);
  EXPECT_EQ(out.value().sampling.seed, 0U);
  EXPECT_EQ(out.value().max_new_tokens, std::nullopt);
  EXPECT_EQ(out.value().enable_thinking, std::nullopt);
  EXPECT_TRUE(out.value().stop_ids.empty());
}

TEST_F(Defaults, StopIdsAreThoseOfBothFilesOneOrMany) {
  const auto out =
      load(R"({"eos_token_id": 7, "bos_token_id": 2})", R"({"eos_token_id": [2, 24, 7]})");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.value().stop_ids, (std::vector<TokenId>{2, 7, 24}));
  EXPECT_EQ(out.value().bos_id, 2);
}

TEST_F(Defaults, SamplingCountsUnlessTheFileAsksForNone) {
  const auto on = load("{}", R"({"temperature": 0.7, "top_p": 0.9, "top_k": 20, "min_p": 0.1})");
  ASSERT_TRUE(on.ok());
  EXPECT_EQ(on.value().sampling.temperature, 0.7F);
  EXPECT_EQ(on.value().sampling.top_k, 20);
  EXPECT_EQ(on.value().sampling.top_p, 0.9F);
  EXPECT_EQ(on.value().sampling.min_p, 0.1F);
  const auto plain = load("{}", R"({"do_sample": true})");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain.value().sampling.temperature, 1.0F);
  const auto off = load("{}", R"({"do_sample": false, "temperature": 0.7, "top_k": 20})");
  ASSERT_TRUE(off.ok());
  EXPECT_EQ(off.value().sampling.temperature, 0.0F);
}

TEST_F(Defaults, TemplateArgumentsAndUnknownKeys) {
  const auto out = load("{}", R"({"default_chat_template_kwargs": {"enable_thinking": true, "x": 1},
    "max_new_tokens": 512, "speculative_config": {"method": "dflash"}, "reasoning_parser": "p"})");
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out.value().enable_thinking, true);
  EXPECT_EQ(out.value().max_new_tokens, 512);
}

TEST_F(Defaults, WrongTypesNameFileAndKey) {
  const auto out = load("{}", R"({"temperature": "hot"})");
  ASSERT_FALSE(out.ok());
  EXPECT_NE(out.error().message.find("generation_config.json"), std::string::npos);
  EXPECT_NE(out.error().message.find("temperature"), std::string::npos);
}

}  // namespace
}  // namespace spindrift
