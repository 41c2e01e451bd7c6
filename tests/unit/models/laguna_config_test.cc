#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "models/laguna/config.h"
#include "support/shared_dir.h"
#include "support/tiny_checkpoint.h"

namespace spindrift::laguna {
namespace {

using Values = std::map<std::string, std::string>;

// XS 2.1's published values, four layers of it.
Values xs21() {
  return {{"model_type", R"("laguna")"},
          {"vocab_size", "100352"},
          {"hidden_size", "2048"},
          {"intermediate_size", "8192"},
          {"num_hidden_layers", "4"},
          {"num_attention_heads", "48"},
          {"num_attention_heads_per_layer", "[48, 64, 64, 64]"},
          {"num_key_value_heads", "8"},
          {"head_dim", "128"},
          {"max_position_embeddings", "262144"},
          {"rms_norm_eps", "1e-06"},
          {"sliding_window", "512"},
          {"layer_types",
           R"(["full_attention", "sliding_attention", "sliding_attention", "sliding_attention"])"},
          {"mlp_layer_types", R"(["dense", "sparse", "sparse", "sparse"])"},
          {"mlp_only_layers", "[0]"},
          {"decoder_sparse_step", "1"},
          {"num_experts", "256"},
          {"num_experts_per_tok", "8"},
          {"moe_intermediate_size", "512"},
          {"shared_expert_intermediate_size", "512"},
          {"moe_routed_scaling_factor", "2.5"},
          {"norm_topk_prob", "true"},
          {"gating", R"("per-head")"},
          {"gating_types", R"(["per_head", "per_head", "per_head", "per_head"])"},
          {"attention_bias", "false"},
          {"tie_word_embeddings", "false"},
          {"moe_apply_router_weight_on_input", "false"},
          {"rope_parameters", R"({"full_attention": {"rope_theta": 500000.0, "rope_type": "yarn",
             "factor": 32.0, "original_max_position_embeddings": 8192, "beta_slow": 1.0,
             "beta_fast": 64.0, "attention_factor": 1.3465735902799727,
             "partial_rotary_factor": 0.5}, "sliding_attention": {"rope_type": "default",
             "rope_theta": 10000.0, "partial_rotary_factor": 1.0}})"}};
}

JsonObject json_of(const Values& values) {
  std::string text = "{";
  for (const auto& [key, value] : values)
    text.append(text.size() > 1 ? "," : "").append("\"").append(key).append("\":").append(value);
  return JsonObject::parse(text.append("}"), "folder/config.json").value();
}

Config read(const Values& values, const ConfigOptions& options = {},
            std::vector<std::string>* warnings = nullptr) {
  std::vector<std::string> ignored;
  auto config = read_config(json_of(values), options, warnings ? *warnings : ignored);
  if (!config.ok()) ADD_FAILURE() << config.error().message;
  return std::move(config).value();
}

TEST(LagunaConfig, FullLayersRotate64Of128WithYarnAndSlidingLayersAll128Without) {
  const Config config = read(xs21());
  EXPECT_EQ(config.full_rope.rotated, 64);
  ASSERT_TRUE(config.full_rope.yarn.has_value());
  EXPECT_EQ(config.full_rope.multiplier, 1.3465735902799727);
  EXPECT_EQ(config.sliding_rope.rotated, 128);
  EXPECT_FALSE(config.sliding_rope.yarn.has_value());
  EXPECT_EQ(config.sliding_rope.multiplier, 1.0);

  const nn::Rope full = config.full_rope.make(), plain = nn::Rope::plain(500000.0, 64);
  ASSERT_EQ(full.inv_freq.size(), 32U);
  EXPECT_EQ(full.multiplier, 1.3465735902799727F);
  for (size_t i = 0; i <= 7; ++i) EXPECT_EQ(full.inv_freq[i], plain.inv_freq[i]);
  for (size_t i = 18; i < 32; ++i)
    EXPECT_NEAR(full.inv_freq[i] * 32.0F / plain.inv_freq[i], 1.0F, 1e-6F);
  EXPECT_EQ(config.sliding_rope.make().inv_freq.size(), 64U);
}

TEST(LagunaConfig, TheMultiplierIsTheConfigsUnlessAbsentOrForced) {
  Values values = xs21();
  std::string& rope = values["rope_parameters"];
  rope.replace(rope.find("1.3465735902799727"), 18, "1.0");
  EXPECT_EQ(read(values).full_rope.multiplier, 1.0);
  EXPECT_NEAR(read(values, {.derived_rope_multiplier = true}).full_rope.multiplier,
              1.3465735902799727, 1e-12);
  rope.replace(rope.find("\"attention_factor\": 1.0,"), 24, "");
  EXPECT_NEAR(read(values).full_rope.multiplier, 1.3465735902799727, 1e-12);
}

TEST(LagunaConfig, LooseScalarsBesideNestedRopeParametersArePassedOver) {
  Values values = xs21();
  std::string& rope = values["rope_parameters"];
  rope.insert(rope.size() - 1, R"(, "original_max_position_embeddings": 4096)");
  EXPECT_EQ(read(values).full_rope.yarn->original_context, 8192.0);
  rope.erase(rope.find("\"original_max_position_embeddings\": 8192,"), 41);
  EXPECT_EQ(read(values).full_rope.yarn->original_context, 4096.0);
}

TEST(LagunaConfig, AFlatRopeServesEveryLayer) {
  Values values = xs21();
  values["rope_parameters"] = R"({"rope_theta": 500000.0, "rope_type": "yarn", "factor": 64.0,
      "original_max_position_embeddings": 4096, "beta_fast": 64.0, "attention_factor": 1.0,
      "partial_rotary_factor": 1.0})";
  const Config config = read(values);
  EXPECT_EQ(config.full_rope.rotated, 128);
  EXPECT_EQ(config.sliding_rope.rotated, 128);
  EXPECT_EQ(config.full_rope.yarn->factor, 64.0);
}

TEST(LagunaConfig, SuppliesTheDefaultsThatReleasesLeaveOut) {
  Values values = xs21();
  for (const char* key :
       {"num_attention_heads_per_layer", "layer_types", "mlp_layer_types", "mlp_only_layers",
        "decoder_sparse_step", "norm_topk_prob", "moe_routed_scaling_factor", "gating_types",
        "tie_word_embeddings", "sliding_window", "shared_expert_intermediate_size"})
    values.erase(key);
  values["gating"] = "true";
  const Config config = read(values);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(config.layers[i].heads, 48);
    EXPECT_FALSE(config.layers[i].sliding);
    EXPECT_EQ(config.layers[i].sparse, i != 0);
    EXPECT_FALSE(config.layers[i].gate.has_value());
  }
  EXPECT_EQ(config.window, 0);
  EXPECT_EQ(config.shared_inner, 512);
  EXPECT_TRUE(config.router.renormalize);
  EXPECT_EQ(config.router.routed_scale, 1.0F);
  EXPECT_EQ(config.router.softcap, 0.0F);
  EXPECT_EQ(config.router.score, kernels::ScoreFunc::kSigmoid);
  EXPECT_FALSE(config.tied);
}

TEST(LagunaConfig, DenseLayersComeFromListStepOrTypes) {
  Values values = xs21();
  values.erase("mlp_layer_types");
  values["mlp_only_layers"] = "[0, 2]";
  Config config = read(values);
  EXPECT_TRUE(!config.layers[0].sparse && config.layers[1].sparse && !config.layers[2].sparse &&
              config.layers[3].sparse);
  values["mlp_only_layers"] = "[]";
  values["decoder_sparse_step"] = "2";
  config = read(values);
  EXPECT_TRUE(!config.layers[0].sparse && config.layers[1].sparse && !config.layers[2].sparse &&
              config.layers[3].sparse);
}

TEST(LagunaConfig, ContradictingLayerListsWarnNamingBoth) {
  Values values = xs21();
  values["mlp_only_layers"] = "[0, 1]";
  std::vector<std::string> warnings;
  EXPECT_TRUE(read(values, {}, &warnings).layers[1].sparse);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("mlp_layer_types"), std::string::npos);
  EXPECT_NE(warnings[0].find("mlp_only_layers"), std::string::npos);
}

TEST(LagunaConfig, ReadsScoreFunctionSoftcapAndSinks) {
  Values values = xs21();
  values["moe_router_score_func"] = R"("sqrtsoftplus")";
  values["moe_router_logit_softcapping"] = "3.0";
  values["swa_attention_sink_enabled"] = "true";
  values["norm_topk_prob"] = "false";
  const Config config = read(values);
  EXPECT_EQ(config.router.score, kernels::ScoreFunc::kSqrtSoftplus);
  EXPECT_EQ(config.router.softcap, 3.0F);
  EXPECT_TRUE(config.sinks);
  EXPECT_FALSE(config.router.renormalize);
  values["moe_router_score_func"] = "null";
  values["moe_router_use_sigmoid"] = "false";
  EXPECT_EQ(read(values).router.score, kernels::ScoreFunc::kSoftmax);
}

TEST(LagunaConfig, PublishedConfigsAreAccepted) {
  SPINDRIFT_SHARED_OR_SKIP(folder, "reference/laguna");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find("config") == std::string::npos || name.find("DFlash") != std::string::npos ||
        name.find("generation") != std::string::npos || name.find("token") != std::string::npos)
      continue;
    std::vector<std::string> warnings;
    const auto config = read_config(JsonObject::parse_file(entry.path()).value(), {}, warnings);
    EXPECT_TRUE(config.ok()) << (config.ok() ? "" : config.error().message);
    EXPECT_TRUE(warnings.empty()) << name << ": " << warnings.front();
  }
}

struct BadValue {
  const char* key;
  const char* value;  // null = absent
  ErrorCode code = ErrorCode::kInvalid;
};

TEST(LagunaConfig, EveryWrongValueIsRefusedNamingFileAndKey) {
  using enum ErrorCode;
  const BadValue cases[] = {
      {"vocab_size", nullptr, kNotFound},
      {"vocab_size", "0"},
      {"vocab_size", "\"many\""},
      {"vocab_size", "1e30"},
      {"hidden_size", "-5"},
      {"hidden_size", nullptr, kNotFound},
      {"max_position_embeddings", "0"},
      {"max_position_embeddings", "99999999999"},
      {"rms_norm_eps", "-1"},
      {"rms_norm_eps", "\"1e-6\""},
      {"num_hidden_layers", "0"},
      {"num_hidden_layers", "1000000000"},
      {"num_hidden_layers", "3.5"},
      {"num_attention_heads", nullptr, kNotFound},
      {"num_attention_heads_per_layer", "[48, 64, 64]"},
      {"num_attention_heads_per_layer", "[48, 64, 64, 60]"},
      {"num_attention_heads_per_layer", "[48, 64, 64, 0]"},
      {"num_attention_heads_per_layer", "48"},
      {"num_key_value_heads", "0"},
      {"num_key_value_heads", "7"},
      {"head_dim", "127"},
      {"head_dim", "0"},
      {"layer_types", R"(["full_attention"])"},
      {"layer_types", R"(["full_attention", "sliding", "full_attention", "full_attention"])"},
      {"layer_types", "[1, 2, 3, 4]"},
      {"sliding_window", "0"},
      {"sliding_window", "null", kNotFound},
      {"mlp_layer_types", R"(["dense", "sparse", "sparse", "wet"])"},
      {"mlp_layer_types", R"(["dense"])"},
      {"mlp_only_layers", "[4]"},
      {"decoder_sparse_step", "0"},
      {"gating", "false", kUnsupported},
      {"gating", R"("per-row")"},
      {"gating", "3"},
      {"gating_types", R"(["per_head", "per_head", "per_head", "per_element"])"},
      {"gating_types", R"(["per_head"])"},
      {"intermediate_size", nullptr, kNotFound},
      {"num_experts", "0"},
      {"num_experts", nullptr, kNotFound},
      {"num_experts_per_tok", "257"},
      {"num_experts_per_tok", "0"},
      {"moe_intermediate_size", nullptr, kNotFound},
      {"shared_expert_intermediate_size", "-1"},
      {"moe_routed_scaling_factor", "\"2.5\""},
      {"moe_router_logit_softcapping", "-3"},
      {"moe_router_score_func", R"("tanh")", kUnsupported},
      {"norm_topk_prob", "1"},
      {"moe_apply_router_weight_on_input", "true", kUnsupported},
      {"attention_bias", "true", kUnsupported},
      {"use_bidirectional_attention", "true", kUnsupported},
      {"hidden_act", R"("gelu")", kUnsupported},
      {"tie_word_embeddings", "\"no\""},
      {"swa_attention_sink_enabled", "2"},
      {"rope_parameters", nullptr, kNotFound},
      {"rope_parameters", "[]"},
  };
  for (const BadValue& bad : cases) {
    Values values = xs21();
    values.erase(bad.key);
    if (bad.value != nullptr) values[bad.key] = bad.value;
    std::vector<std::string> warnings;
    const auto config = read_config(json_of(values), {}, warnings);
    const std::string what = std::string(bad.key) + " = " + (bad.value ? bad.value : "absent");
    ASSERT_FALSE(config.ok()) << what;
    EXPECT_EQ(config.error().code, bad.code) << what << ": " << config.error().message;
    EXPECT_EQ(config.error().message.find("folder/config.json: key `"), 0U)
        << config.error().message;
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
  }
}

TEST(LagunaConfig, EveryWrongRopeIsRefusedNamingItsPath) {
  const std::pair<const char*, const char*> cases[] = {
      {"\"rope_theta\": 500000.0", "\"rope_theta\": 0.5"},
      {"\"rope_theta\": 10000.0", "\"rope_theta\": \"x\""},
      {"\"factor\": 32.0", "\"factor\": 0.5"},
      {"\"factor\": 32.0,", ""},
      {"\"rope_type\": \"yarn\"", "\"rope_type\": \"llama3\""},
      {"\"original_max_position_embeddings\": 8192,", ""},
      {"\"beta_fast\": 64.0", "\"beta_fast\": 0"},
      {"\"attention_factor\": 1.3465735902799727", "\"attention_factor\": 0"},
      {"\"partial_rotary_factor\": 0.5", "\"partial_rotary_factor\": 1.5"},
      {"\"partial_rotary_factor\": 0.5", "\"partial_rotary_factor\": 0.0"},
      {"\"partial_rotary_factor\": 0.5", "\"partial_rotary_factor\": 0.51"},
      {"\"factor\": 32.0", "\"mscale\": 1.0, \"factor\": 32.0"},
      {"\"sliding_attention\"", "\"other_attention\""},
  };
  for (const auto& [from, to] : cases) {
    Values values = xs21();
    std::string& rope = values["rope_parameters"];
    ASSERT_NE(rope.find(from), std::string::npos) << from;
    rope.replace(rope.find(from), std::string_view(from).size(), to);
    std::vector<std::string> warnings;
    const auto config = read_config(json_of(values), {}, warnings);
    ASSERT_FALSE(config.ok()) << to;
    EXPECT_NE(config.error().message.find("rope_parameters"), std::string::npos)
        << config.error().message;
  }
}

}  // namespace
}  // namespace spindrift::laguna
