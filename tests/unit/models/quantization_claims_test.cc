#include "nn/quantization_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/registry.h"
#include "nn/name_pattern.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;
using testing::tiny_laguna;
using testing::TinyCheckpoint;
using testing::TinyFormat;

bool matches(std::string_view pattern, std::string_view name) {
  const auto parsed = nn::NamePattern::parse(pattern);
  EXPECT_TRUE(parsed.ok()) << pattern << ": " << parsed.error().message;
  return parsed.ok() && parsed.value().matches(name);
}

// The patterns of the published configs.
TEST(NamePattern, PublishedPatternsMatchWhatTheyMean) {
  const char* const expert = "model.layers.17.mlp.experts.203.gate_proj";
  EXPECT_TRUE(matches("lm_head", "lm_head"));
  EXPECT_FALSE(matches("lm_head", "lm_head.weight"));
  EXPECT_TRUE(matches(R"(re:.*\.self_attn\.q_proj$)", "model.layers.3.self_attn.q_proj"));
  EXPECT_FALSE(matches(R"(re:.*\.self_attn\.q_proj$)", "model.layers.3.self_attn.q_projx"));
  EXPECT_FALSE(matches(R"(re:.*\.mlp\.gate$)", expert));
  EXPECT_TRUE(matches(R"(re:.*\.mlp\.gate$)", "model.layers.17.mlp.gate"));
  EXPECT_TRUE(matches(R"(re:.*experts\.[0-9]+\.(gate_proj|up_proj|down_proj)$)", expert));
  EXPECT_FALSE(matches(R"(re:.*experts\.[0-9]+\.(gate_proj|up_proj|down_proj)$)",
                       "model.layers.17.mlp.shared_experts.gate_proj"));
  const char* const first = R"(re:.*layers\.([1-9]|[12]\d|30)\..*(w[1-3]|gate_proj|up_proj)$)";
  const char* const last = R"(re:.*layers\.3[1-9]\..*(w[1-3]|gate_proj|up_proj)$)";
  EXPECT_TRUE(matches(first, expert));
  EXPECT_FALSE(matches(last, expert));
  EXPECT_TRUE(matches(last, "model.layers.31.mlp.experts.0.up_proj"));
  EXPECT_FALSE(matches(first, "model.layers.31.mlp.experts.0.up_proj"));
  EXPECT_TRUE(matches(first, "model.layers.30.mlp.experts.0.up_proj"));
  EXPECT_FALSE(matches(first, "model.layers.0.mlp.up_proj"));
  const char* const late = R"(re:^model\.layers\.4[0-7]\.mlp\.experts(\..*)?$)";
  EXPECT_TRUE(matches(late, "model.layers.47.mlp.experts"));
  EXPECT_TRUE(matches(late, "model.layers.40.mlp.experts.1.up_proj"));
  EXPECT_FALSE(matches(late, "model.layers.48.mlp.experts.1.up_proj"));
  EXPECT_FALSE(matches(late, "model.layers.40.mlp.experts_of_another"));
}

TEST(NamePattern, ExpressionsMatchFromTheFirstCharacterOn) {
  EXPECT_TRUE(matches("re:model", "model.layers"));
  EXPECT_FALSE(matches("re:layers", "model.layers"));
  EXPECT_TRUE(matches("re:", ""));
  EXPECT_TRUE(matches(R"(re:a|bc)", "bcd"));
  EXPECT_TRUE(matches(R"(re:(?:ab)+c?$)", "ababc"));
  EXPECT_FALSE(matches(R"(re:(?:ab)+c?$)", "abac"));
  EXPECT_TRUE(matches(R"(re:[^.]+\.[\w-]+$)", "layer.a-b_9"));
  EXPECT_FALSE(matches(R"(re:[^.]+\.[\w-]+$)", "layer..a"));
  EXPECT_TRUE(matches("re:[]x]$", "]"));
}

TEST(NamePattern, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"re:a{2}", "re:(?=a)", R"(re:(a)\1)", "re:(a", "re:a)", "re:[a", "re:*a",
                           "re:a**", "re:a\\", R"(re:\bword)", "re:[z-a]"})
    EXPECT_FALSE(nn::NamePattern::parse(text).ok()) << text;
  EXPECT_FALSE(nn::NamePattern::parse("re:" + std::string(nn::NamePattern::kMaxBytes, 'a')).ok());
  EXPECT_FALSE(nn::NamePattern::parse("re:" + std::string(100, '(') + std::string(100, ')')).ok());
}

// Backtracking would need 2^200 steps.
TEST(NamePattern, TimeIsLinearInTheName) {
  EXPECT_FALSE(matches("re:(a*)*(a|a)*(aa?)*b$", std::string(200, 'a') + "c"));
}

LoadedTarget load(const TinyCheckpoint& checkpoint) {
  const TempDir folder;
  checkpoint.write(folder.path());
  auto target = load_target(folder.path(), {});
  EXPECT_TRUE(target.ok()) << target.error().message;
  return target.ok() ? std::move(target).value() : LoadedTarget();
}

// Experts, shared experts of the sparse layers 1 and 2 in nvfp4, everything else in bf16.
TinyCheckpoint nvfp4_experts(const std::string& groups, const std::string& ignore) {
  TinyCheckpoint checkpoint =
      tiny_laguna({.expert_inner = 32, .expert_format = TinyFormat::kNvfp4});
  checkpoint.config["quantization_config"] = R"({"format": "nvfp4-pack-quantized", )"
                                             R"("config_groups": {)" +
                                             groups + R"(}, "ignore": [)" + ignore + "]}";
  return checkpoint;
}

constexpr const char* kAllIgnored =
    R"("lm_head", "re:.*\\.self_attn\\..*", "re:.*\\.mlp\\.gate$", "re:model\\.layers\\.0\\.mlp.*")";

std::string group(const std::string& key, const std::string& target,
                  const std::string& format = "nvfp4-pack-quantized") {
  return "\"" + key + "\": {\"format\": \"" + format + "\", \"targets\": [\"" + target + "\"]}";
}

TEST(QuantizationClaims, AConfigThatSaysWhatIsStoredWarnsOfNothing) {
  EXPECT_THAT(load(nvfp4_experts(group("group_0", "Linear"), kAllIgnored)).warnings, IsEmpty());
  EXPECT_THAT(load(nvfp4_experts(group("group_0", R"(re:.*experts?\\..*_proj$)"), "")).warnings,
              IsEmpty());
}

TEST(QuantizationClaims, AContradictionIsOneWarningThatNamesTheClaimAndTheLayer) {
  // The routers are not ignored: the config says that they are quantised.
  const auto router = load(
      nvfp4_experts(group("group_0", "Linear"),
                    R"("lm_head", "re:.*\\.self_attn\\..*", "re:model\\.layers\\.0\\.mlp.*")"));
  EXPECT_THAT(router.warnings,
              ElementsAre(::testing::AllOf(
                  HasSubstr("config_groups.group_0"), HasSubstr("target `Linear`"),
                  HasSubstr("nvfp4-pack-quantized"), HasSubstr("`model.layers.1.mlp.gate`"),
                  HasSubstr("bf16"), HasSubstr("1 more"), HasSubstr("tensors are followed"))));
  // The experts of layer 2 are ignored and quantised nevertheless.
  const auto ignored = load(nvfp4_experts(
      group("group_0", "Linear"),
      std::string(kAllIgnored) + R"(, "re:model\\.layers\\.2\\.mlp\\.experts\\..*")"));
  EXPECT_THAT(ignored.warnings,
              ElementsAre(::testing::AllOf(
                  HasSubstr("ignore"), HasSubstr("experts"), HasSubstr("says plain"),
                  HasSubstr("`model.layers.2.mlp.experts.0.gate_proj`"), HasSubstr("nvfp4"))));
  // Another format than the stored one.
  const auto other =
      load(nvfp4_experts(group("group_0", "Linear", "float-quantized"), kAllIgnored));
  EXPECT_THAT(other.warnings,
              ElementsAre(::testing::AllOf(HasSubstr("float-quantized"), HasSubstr("nvfp4"))));
  // Layers that no group targets.
  const auto none = load(nvfp4_experts(group("group_0", R"(re:.*shared_expert\\..*)"), ""));
  EXPECT_THAT(none.warnings,
              ElementsAre(::testing::AllOf(HasSubstr("`quantization_config` has no group"),
                                           HasSubstr("experts.0.gate_proj"))));
}

TEST(QuantizationClaims, TheWidthOfIntegersIsComparedToo) {
  TinyCheckpoint checkpoint = tiny_laguna({.expert_inner = 32, .expert_format = TinyFormat::kInt4});
  const auto config = [&](const char* bits) {
    return std::string(R"({"format": "pack-quantized", "config_groups": {"group_0": {"weights": )"
                       R"({"num_bits": )") +
           bits + R"(}, "targets": ["re:.*experts?\\..*"]}}})";
  };
  checkpoint.config["quantization_config"] = config("4");
  EXPECT_THAT(load(checkpoint).warnings, IsEmpty());
  checkpoint.config["quantization_config"] = config("8");
  EXPECT_THAT(load(checkpoint).warnings,
              ElementsAre(::testing::AllOf(HasSubstr("of 8 bits"), HasSubstr("int4"))));
}

TEST(QuantizationClaims, AGroupThatMatchesNoLayerIsRefused) {
  const TinyCheckpoint checkpoint = nvfp4_experts(
      group("group_0", "Linear") + ", " + group("group_1", R"(re:.*layers\\.9\\..*)"), kAllIgnored);
  const TempDir folder;
  checkpoint.write(folder.path());
  const auto target = load_target(folder.path(), {});
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(target.error().message,
              ::testing::AllOf(HasSubstr("config.json"), HasSubstr("config_groups.group_1.targets"),
                               HasSubstr("expected"), HasSubstr(R"(re:.*layers\.9\..*)")));
  const auto described = describe_target(folder.path());
  ASSERT_TRUE(described.ok());
  EXPECT_THAT(described.value().problems, ElementsAre(HasSubstr("group_1")));
}

TEST(QuantizationClaims, APatternThatIsNotUnderstoodIsAWarningAndNoMore) {
  const auto target = load(nvfp4_experts(group("group_0", R"(re:(?=x).*)"), kAllIgnored));
  EXPECT_THAT(target.warnings,
              ElementsAre(::testing::AllOf(HasSubstr("config_groups.group_0"), HasSubstr("(?"))));
}

}  // namespace
}  // namespace spindrift
