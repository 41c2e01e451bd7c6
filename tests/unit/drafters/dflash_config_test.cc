#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "drafters/dflash/config.h"
#include "support/config_cases.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

constexpr std::string_view kValid = R"({
  "architectures": ["DFlashLagunaForCausalLM"], "model_type": "laguna",
  "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-6,
  "vocab_size": 100, "draft_vocab_size": 100, "rope_theta": 10000.0, "sliding_window": 128,
  "layer_types": ["sliding_attention", "sliding_attention"], "gating": "per-head",
  "num_experts": 0, "attention_bias": false, "eagle_aux_hidden_state_layer_ids": [3, 6],
  "dflash_config": {"block_size": 12, "mask_token_id": 12, "num_target_layers": 6,
                    "target_layer_ids": [2, 5], "causal": true}})";

constexpr testing::ConfigReader<dflash::Config> kReader{.valid = kValid,
                                                        .read = dflash::parse_config};

TargetFacts facts() {
  return {.family = "laguna", .info = {.vocab = 100, .hidden = 64, .layers = 6, .max_context = 99}};
}

TEST(DFlashConfig, ReadsEveryFieldOfTheContract) {
  const dflash::Config c = kReader.taken(kValid);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.intermediate, 96);
  EXPECT_EQ(c.layers, 2);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.vocab, 100);
  EXPECT_EQ(c.window, 128);
  EXPECT_EQ(c.rope_theta, 10000.0);
  EXPECT_EQ(c.block_size, 12);
  EXPECT_EQ(c.mask_token, 12);
  EXPECT_EQ(c.target_layers, 6);
  EXPECT_EQ(c.target_layer_ids, (std::vector<int>{2, 5}));
}

TEST(DFlashConfig, EachViolationIsATypedErrorThatNamesFileKeyAndValue) {
  using enum ErrorCode;
  const std::vector<testing::Violation> violations = {
      {"\"DFlashLagunaForCausalLM\"", "\"LagunaForCausalLM\"", kUnsupported, "architectures"},
      {"\"hidden_size\": 64", "\"hidden_size\": 0", kInvalid, "hidden_size"},
      {"\"hidden_size\": 64, ", "", kNotFound, "hidden_size"},
      {"\"intermediate_size\": 96", "\"intermediate_size\": -1", kInvalid, "intermediate_size"},
      {"\"num_hidden_layers\": 2", "\"num_hidden_layers\": 99999999", kInvalid,
       "num_hidden_layers"},
      {"\"num_key_value_heads\": 2", "\"num_key_value_heads\": 3", kInvalid, "num_key_value_heads"},
      {"\"head_dim\": 16", "\"head_dim\": 15", kInvalid, "head_dim"},
      {"\"rms_norm_eps\": 1e-6", "\"rms_norm_eps\": -1", kInvalid, "rms_norm_eps"},
      {"\"vocab_size\": 100, ", "", kNotFound, "vocab_size"},
      {"\"draft_vocab_size\": 100", "\"draft_vocab_size\": 50", kUnsupported, "draft_vocab_size"},
      {"\"rope_theta\": 10000.0, ", "", kNotFound, "rope_theta"},
      {"\"rope_theta\": 10000.0", "\"rope_theta\": \"big\"", kInvalid, "rope_theta"},
      {"\"rope_theta\": 10000.0", "\"rope_parameters\": {\"rope_type\": \"yarn\"}", kUnsupported,
       "rope_parameters.rope_type"},
      {"\"rope_theta\": 10000.0",
       "\"rope_parameters\": {\"rope_theta\": 1e4, \"partial_rotary_factor\": 0.5}", kUnsupported,
       "rope_parameters.partial_rotary_factor"},
      {"\"rope_theta\": 10000.0",
       "\"rope_theta\": 10000.0, \"rope_parameters\": {\"rope_theta\": 5e5}", kInvalid,
       "rope_theta"},
      {"\"rope_theta\": 10000.0", "\"rope_theta\": 10000.0, \"rope_scaling\": {\"factor\": 2}",
       kUnsupported, "rope_scaling"},
      {"\"sliding_window\": 128", "\"sliding_window\": 0", kInvalid, "sliding_window"},
      {"[\"sliding_attention\", \"sliding_attention\"]",
       "[\"sliding_attention\", \"full_attention\"]", kUnsupported, "layer_types"},
      {"[\"sliding_attention\", \"sliding_attention\"]", "[\"sliding_attention\"]", kUnsupported,
       "layer_types"},
      {"[\"sliding_attention\", \"sliding_attention\"]", "null", kNotFound, "layer_types"},
      {"\"gating\": \"per-head\"", "\"gating\": \"per-element\"", kUnsupported, "gating"},
      {"\"gating\": \"per-head\"", "\"gating\": true", kInvalid, "gating"},
      {"\"num_experts\": 0", "\"num_experts\": 8", kUnsupported, "num_experts"},
      {"\"attention_bias\": false", "\"attention_bias\": true", kUnsupported, "attention_bias"},
      {"\"num_experts\": 0", "\"num_experts\": 0, \"sliding_windows\": [128, 64]", kUnsupported,
       "sliding_windows"},
      {"\"num_experts\": 0", "\"num_experts\": 0, \"num_attention_heads_per_layer\": [4, 6]",
       kUnsupported, "num_attention_heads_per_layer"},
      {"[3, 6]", "[2, 5]", kInvalid, "eagle_aux_hidden_state_layer_ids"},
      {"[3, 6]", "[3]", kInvalid, "eagle_aux_hidden_state_layer_ids"},
      {"\"dflash_config\"", "\"other_config\"", kNotFound, "dflash_config"},
      {"\"block_size\": 12", "\"block_size\": 1", kInvalid, "dflash_config.block_size"},
      {"\"block_size\": 12", "\"block_size\": 65", kInvalid, "dflash_config.block_size"},
      {"\"mask_token_id\": 12", "\"mask_token_id\": 100", kInvalid, "dflash_config.mask_token_id"},
      {"\"mask_token_id\": 12", "\"mask_token_id\": -1", kInvalid, "dflash_config.mask_token_id"},
      {"\"num_target_layers\": 6", "\"num_target_layers\": 0", kInvalid,
       "dflash_config.num_target_layers"},
      {"[2, 5]", "[5, 2]", kInvalid, "dflash_config.target_layer_ids"},
      {"[2, 5]", "[2, 2]", kInvalid, "dflash_config.target_layer_ids"},
      {"[2, 5]", "[2, 6]", kInvalid, "dflash_config.target_layer_ids[1]"},
      {"[2, 5]", "[-1, 5]", kInvalid, "dflash_config.target_layer_ids[0]"},
      {"[2, 5]", "[]", kInvalid, "dflash_config.target_layer_ids"},
      {"[2, 5]", "[2, 4, 5]", kUnsupported, "dflash_config.target_layer_ids"},
      {"\"causal\": true", "\"causal\": false", kUnsupported, "dflash_config.causal"},
      {", \"causal\": true", "", kNotFound, "dflash_config.causal"},
  };
  kReader.expect_refused(violations);
}

TEST(DFlashConfig, TakesThetaFromRopeParametersFlatOrByLayerType) {
  for (const char* rope : {R"("rope_parameters": {"rope_type": "default", "rope_theta": 250000.0})",
                           R"("rope_parameters": {"full_attention": {"rope_type": "yarn"},
            "sliding_attention": {"rope_theta": 250000, "partial_rotary_factor": 1.0}})"}) {
    EXPECT_EQ(kReader.taken(kReader.with("\"rope_theta\": 10000.0", rope)).rope_theta, 250000.0);
  }
}

TEST(DFlashConfig, TheSpeculatorsFormatIsRefusedByItsName) {
  for (const char* mark : {R"("speculators_model_type": "dflash")", R"("speculators_config": {})",
                           R"("speculators_version": "0.5.0")"}) {
    const auto config = kReader.parse(kReader.with("\"num_experts\": 0", mark));
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(config.error().message.find("\"speculators\""), std::string::npos);
  }
}

TEST(DFlashConfig, PairsWithTheTargetItWasMadeForOnly) {
  const dflash::Config config = kReader.taken(kValid);
  const std::vector<testing::Mismatch<TargetFacts>> mismatches = {
      {[](TargetFacts& f) { f.info.layers = 7; }, "dflash_config.num_target_layers"},
      {[](TargetFacts& f) { f.info.hidden = 128; }, "hidden_size"},
      {[](TargetFacts& f) { f.info.vocab = 101; }, "vocab_size"},
      {[](TargetFacts& f) { f.family = "granite"; }, "architectures"}};
  testing::expect_mismatches(
      facts(), mismatches, [&](const TargetFacts& f) { return dflash::check_pairing(config, f); });
}

TEST(DFlashConfig, ThePublishedDraftersParse) {
  SPINDRIFT_SHARED_OR_SKIP(folder, "reference/laguna");
  for (const char* name :
       {"Laguna-XS-2.1-DFlash", "Laguna-S-2.1-DFlash", "Laguna-S-2.1-DFlash-NVFP4"}) {
    const auto json = JsonObject::parse_file(folder / (std::string(name) + ".config.derived.json"));
    ASSERT_TRUE(json.ok()) << json.error().message;
    const auto config = dflash::parse_config(json.value());
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config.value().block_size, 16);
    EXPECT_EQ(config.value().window, 512);
  }
}

}  // namespace
}  // namespace spindrift
