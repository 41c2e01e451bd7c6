#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "models/llama/config.h"
#include "support/config_cases.h"
#include "support/shared_dir.h"

namespace spindrift::llama {
namespace {

constexpr std::string_view kValid = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 100,
  "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
  "num_key_value_heads": 2, "hidden_act": "silu", "max_position_embeddings": 512,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": true, "attention_bias": true, "mlp_bias": true,
  "rope_theta": 500000.0, "rope_scaling": null})";

constexpr testing::ConfigReader<Config> kReader{.valid = kValid, .read = read_config};

Config with(std::string_view from, std::string_view to) {
  return kReader.taken(kReader.with(from, to));
}

TEST(LlamaConfig, ReadsEveryField) {
  const Config c = kReader.taken(kValid);
  EXPECT_EQ(c.vocab, 100);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.intermediate, 96);
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.max_context, 512);
  EXPECT_TRUE(c.tied && c.attention_bias && c.mlp_bias);
  EXPECT_EQ(c.rope.inv_freq[1], nn::Rope::plain(500000.0, 16).inv_freq[1]);
  EXPECT_EQ(c.attention_scale, 0.25F);
  EXPECT_EQ(c.residual_multiplier, 1.0F);
  EXPECT_EQ(c.logits_scaling, 1.0F);
}

TEST(LlamaConfig, AbsentKeysHaveTheDefaultsOfTransformers) {
  const Config c = kReader.taken(R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64,
      "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
      "max_position_embeddings": 512})");
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.eps, 1e-6F);
  EXPECT_FALSE(c.tied || c.attention_bias || c.mlp_bias);
  EXPECT_EQ(c.rope.inv_freq[1], nn::Rope::plain(10000.0, 16).inv_freq[1]);
}

TEST(LlamaConfig, GraniteAloneHasMultipliers) {
  constexpr std::string_view kMultipliers =
      "\"embedding_multiplier\": 12.0, \"attention_multiplier\": 0.0078125, "
      "\"residual_multiplier\": 0.22, \"logits_scaling\": 16.0, \"model_type\": \"granite\"";
  const Config granite = with("\"model_type\": \"llama\"", kMultipliers);
  EXPECT_EQ(granite.embedding_multiplier, 12.0F);
  EXPECT_EQ(granite.attention_scale, 0.0078125F);
  EXPECT_EQ(granite.residual_multiplier, 0.22F);
  EXPECT_EQ(granite.logits_scaling, 16.0F);
}

TEST(LlamaConfig, AHeadSizeOfItsOwnNeedNotDivideTheHiddenSize) {
  EXPECT_EQ(with("\"hidden_size\": 64", "\"hidden_size\": 63, \"head_dim\": 80").head_dim, 80);
}

TEST(LlamaConfig, RopeIsTakenFromEitherSpelling) {
  const auto first = [](const Config& c) { return c.rope.inv_freq; };
  const auto plain = nn::Rope::plain(500000.0, 16).inv_freq;
  const Config linear =
      with("\"rope_scaling\": null", R"("rope_scaling": {"type": "linear", "factor": 4.0})");
  EXPECT_EQ(linear.rope_kind, "linear");
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_FLOAT_EQ(first(linear)[i], plain[i] / 4.0F);
  const Config newer = with(R"("rope_theta": 500000.0, "rope_scaling": null)",
                            R"("rope_parameters": {"rope_type": "linear", "factor": 4.0,
                                "rope_theta": 500000.0})");
  EXPECT_EQ(first(newer), first(linear));
}

// Turns of the original context tell what is scaled: many are kept, fewer than one are divided.
TEST(LlamaConfig, Llama3ScalesSlowFeaturesOnly) {
  const Config c = with("\"rope_scaling\": null", R"("rope_scaling": {"rope_type": "llama3",
      "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
      "original_max_position_embeddings": 8192})");
  const auto plain = nn::Rope::plain(500000.0, 16).inv_freq;
  for (size_t i = 0; i < plain.size(); ++i) {
    const double turns = 8192.0 * plain[i] / (2.0 * std::numbers::pi);
    if (turns > 4.0) {
      EXPECT_EQ(c.rope.inv_freq[i], plain[i]);
    } else if (turns < 1.0) {
      EXPECT_FLOAT_EQ(c.rope.inv_freq[i], plain[i] / 8.0F);
    } else {
      EXPECT_LT(c.rope.inv_freq[i], plain[i]);
      EXPECT_GT(c.rope.inv_freq[i], plain[i] / 8.0F);
    }
  }
}

TEST(LlamaConfig, EachViolationIsATypedErrorThatNamesFileKeyAndValue) {
  using enum ErrorCode;
  const auto llama3 = [](std::string_view low, std::string_view high) {
    return std::string(R"("rope_scaling": {"rope_type": "llama3", "factor": 8,)") +
           R"("low_freq_factor": )" + std::string(low) + R"(, "high_freq_factor": )" +
           std::string(high) + R"(, "original_max_position_embeddings": 64})";
  };
  const std::string crossed = llama3("4", "1"), negative = llama3("-1", "4");
  constexpr std::string_view kScaling = "\"rope_scaling\": null";
  kReader.expect_refused(
      {{"\"vocab_size\": 100,", "", kNotFound, "vocab_size"},
       {"\"vocab_size\": 100", "\"vocab_size\": 1e9", kInvalid, "vocab_size"},
       {"\"hidden_size\": 64", "\"hidden_size\": 66", kInvalid, "hidden_size"},
       {"\"num_hidden_layers\": 3", "\"num_hidden_layers\": 0", kInvalid, "num_hidden_layers"},
       {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", kInvalid,
        "num_key_value_heads"},
       {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 2, \"head_dim\": 15", kInvalid,
        "head_dim"},
       {"\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"", kUnsupported, "hidden_act"},
       {"\"rms_norm_eps\": 1e-5", "\"rms_norm_eps\": 0", kInvalid, "rms_norm_eps"},
       {"\"mlp_bias\": true", "\"mlp_bias\": 1", kInvalid, "mlp_bias"},
       {"\"mlp_bias\": true", "\"mlp_bias\": true, \"quantization_config\": {}", kUnsupported,
        "quantization_config"},
       {"\"rope_theta\": 500000.0", "\"rope_theta\": 0.5", kInvalid, "rope_theta"},
       {kScaling, R"("rope_scaling": {"type": "yarn", "factor": 4})", kUnsupported,
        "rope_scaling.type"},
       {kScaling, R"("rope_scaling": {"rope_type": "dynamic", "factor": 4})", kUnsupported,
        "rope_scaling.rope_type"},
       {kScaling, R"("rope_scaling": {"type": "linear"})", kNotFound, "rope_scaling.factor"},
       {kScaling, R"("rope_scaling": {"partial_rotary_factor": 0.5})", kUnsupported,
        "rope_scaling.partial_rotary_factor"},
       {kScaling, crossed, kInvalid, "rope_scaling.high_freq_factor"},
       {kScaling, negative, kInvalid, "rope_scaling.low_freq_factor"}});
}

TEST(LlamaConfig, ThePublishedBasesParse) {
  SPINDRIFT_SHARED_OR_SKIP(folder, "reference/granite");
  const int parsed = kReader.expect_published(
      folder, {"llama", "granite"},
      [](const std::string& name, const JsonObject&, const Config& config) {
        EXPECT_EQ(config.head_dim, name.starts_with("granite-3b")       ? 80
                                   : name.starts_with("granite-3.0-2b") ? 64
                                                                        : 128);
      });
  EXPECT_GE(parsed, 6);
}

}  // namespace
}  // namespace spindrift::llama
