#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "models/gpt_bigcode/config.h"
#include "support/config_cases.h"
#include "support/shared_dir.h"

namespace spindrift::gpt_bigcode {
namespace {

constexpr std::string_view kValid = R"({
  "architectures": ["GPTBigCodeForCausalLM"], "model_type": "gpt_bigcode", "vocab_size": 100,
  "n_embd": 64, "n_layer": 3, "n_head": 4, "n_inner": 96, "n_positions": 512,
  "activation_function": "gelu", "layer_norm_epsilon": 1e-4, "multi_query": true,
  "scale_attn_weights": true})";

constexpr testing::ConfigReader<Config> kReader{.valid = kValid, .read = read_config};

Config with(std::string_view from, std::string_view to) {
  return kReader.taken(kReader.with(from, to));
}

TEST(GptBigCodeConfig, ReadsEveryField) {
  const Config c = kReader.taken(kValid);
  EXPECT_EQ(c.vocab, 100);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.inner, 96);
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.max_context, 512);
  EXPECT_EQ(c.eps, 1e-4F);
  EXPECT_EQ(c.attention_scale, 0.25F);
  EXPECT_EQ(c.activation, Activation::kGelu);
  EXPECT_TRUE(c.tied);
}

TEST(GptBigCodeConfig, AbsentKeysHaveTheDefaultsOfTransformers) {
  const Config c = kReader.taken(R"({"vocab_size": 100, "n_embd": 64, "n_layer": 3, "n_head": 4,
                             "n_positions": 512})");
  EXPECT_EQ(c.inner, 256);
  EXPECT_EQ(c.eps, 1e-5F);
  EXPECT_EQ(c.activation, Activation::kGeluTanh);
  EXPECT_TRUE(c.tied);
}

TEST(GptBigCodeConfig, TheActivationIsTheConfigs) {
  EXPECT_EQ(with("\"gelu\"", "\"gelu_pytorch_tanh\"").activation, Activation::kGeluTanh);
  EXPECT_EQ(with("\"gelu\"", "\"gelu_new\"").activation, Activation::kGeluTanh);
}

TEST(GptBigCodeConfig, ScoresNeedNotBeScaled) {
  EXPECT_EQ(with("\"scale_attn_weights\": true", "\"scale_attn_weights\": false").attention_scale,
            1.0F);
}

TEST(GptBigCodeConfig, EachViolationIsATypedErrorThatNamesFileKeyAndValue) {
  using enum ErrorCode;
  kReader.expect_refused(
      {{"\"vocab_size\": 100,", "", kNotFound, "vocab_size"},
       {"\"n_embd\": 64", "\"n_embd\": 66", kInvalid, "n_embd"},
       {"\"n_layer\": 3", "\"n_layer\": -3", kInvalid, "n_layer"},
       {"\"n_head\": 4", "\"n_head\": \"4\"", kInvalid, "n_head"},
       {"\"n_positions\": 512", "\"n_positions\": 0", kInvalid, "n_positions"},
       {"\"gelu\"", "\"relu\"", kUnsupported, "activation_function"},
       {"\"layer_norm_epsilon\": 1e-4", "\"layer_norm_epsilon\": 2", kInvalid,
        "layer_norm_epsilon"},
       {"\"multi_query\": true", "\"multi_query\": false", kUnsupported, "multi_query"},
       {"\"multi_query\": true", "\"multi_query\": true, \"quantization_config\": {}", kUnsupported,
        "quantization_config"}});
}

TEST(GptBigCodeConfig, ThePublishedBasesParse) {
  SPINDRIFT_SHARED_OR_SKIP(folder, "reference/granite");
  int gelu = 0, tanh = 0;
  kReader.expect_published(folder, {"gpt_bigcode"},
                           [&](const std::string&, const JsonObject&, const Config& config) {
                             EXPECT_EQ(config.head_dim, 128);
                             ++(config.activation == Activation::kGelu ? gelu : tanh);
                           });
  EXPECT_GE(gelu, 1);
  EXPECT_GE(tanh, 2);
}

}  // namespace
}  // namespace spindrift::gpt_bigcode
