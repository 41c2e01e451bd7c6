#include <gtest/gtest.h>

#include <algorithm>

#include "io/weight_store.h"
#include "models/check_scales.h"
#include "models/registry.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

namespace spindrift {
namespace {

using testing::TempDir;
using testing::tiny_laguna;
using testing::TinyCheckpoint;
using testing::TinyFormat;

TargetDescription describe(const TinyCheckpoint& checkpoint) {
  const TempDir folder;
  checkpoint.write(folder.path());
  auto description = describe_target(folder.path());
  if (!description.ok()) ADD_FAILURE() << description.error().message;
  return std::move(description).value();
}

const ModuleGroup* find(const TargetDescription& description, std::string_view module,
                        std::string_view format) {
  for (const ModuleGroup& group : description.groups)
    if (group.module == module && group.format == format) return &group;
  return nullptr;
}

TEST(DescribeTarget, GroupsTheDemoTargetsTensorsByModuleAndFormat) {
  const auto described = describe_target(testing::repo_dir() / "models" / "laguna-tiny-nvfp4");
  ASSERT_TRUE(described.ok()) << described.error().message;
  const TargetDescription& d = described.value();
  EXPECT_EQ(d.family, "laguna");
  EXPECT_EQ(d.info.layers, 6);
  EXPECT_TRUE(d.problems.empty());
  int64_t tensors = 0, bytes = 0;
  for (const ModuleGroup& group : d.groups) {
    tensors += group.tensors;
    bytes += group.bytes;
    EXPECT_NE(group.module, "unknown");
  }
  EXPECT_EQ(tensors, static_cast<int64_t>(d.store->size()));
  EXPECT_EQ(bytes, d.store->total_bytes());

  const ModuleGroup* routed = find(d, "routed experts", "nvfp4");
  ASSERT_NE(routed, nullptr);
  EXPECT_EQ(routed->tensors, 5 * 16 * 3 * 4);  // layers, experts, projections, tensors of each
  // Codes and block scales of a projection, and its two numbers.
  EXPECT_EQ(routed->bytes, 5 * 16 * 3 * (128 * 256 / 2 + 128 * 256 / 16 + 8));
  EXPECT_EQ(routed->bytes_per_token, routed->bytes * 4 / 16);
  EXPECT_NE(find(d, "shared experts", "nvfp4"), nullptr);
  EXPECT_NE(find(d, "dense MLP", "bf16"), nullptr);
  EXPECT_NE(find(d, "router", "f32"), nullptr);  // the selection biases
  const ModuleGroup* embedding = find(d, "embedding", "bf16");
  ASSERT_NE(embedding, nullptr);
  EXPECT_EQ(embedding->bytes_per_token, 256 * 2);
  ASSERT_NE(find(d, "not used", "bf16"), nullptr);
  EXPECT_EQ(find(d, "not used", "bf16")->bytes_per_token, 0);
}

TEST(DescribeTarget, NamesWhatIsMissingAndWhatIsUnknown) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  checkpoint.tensors.erase("model.layers.2.mlp.experts.3.up_proj.weight");
  checkpoint.tensors["model.layers.0.stray"] = {"F32", {1}, "1234"};
  const TargetDescription description = describe(checkpoint);
  ASSERT_EQ(description.problems.size(), 2U);
  EXPECT_NE(description.problems[0].find("model.layers.0.stray"), std::string::npos);
  EXPECT_NE(description.problems[1].find("model.layers.2.mlp.experts.3.up_proj"),
            std::string::npos);
}

TEST(DescribeTarget, TellsWidthsOfCodesApart) {
  TinyCheckpoint checkpoint = tiny_laguna({.hidden = 64,
                                           .intermediate = 96,
                                           .expert_inner = 32,
                                           .format = TinyFormat::kAffine8,
                                           .expert_format = TinyFormat::kInt4});
  testing::add_tiny_linear(checkpoint, "model.layers.1.mlp.experts.0.down_proj", 64, 32,
                           TinyFormat::kInt8, 1);
  const TargetDescription d = describe(checkpoint);
  EXPECT_TRUE(d.problems.empty());
  EXPECT_NE(find(d, "attention", "affine8"), nullptr);
  EXPECT_NE(find(d, "dense MLP", "affine8"), nullptr);
  EXPECT_NE(find(d, "shared experts", "int4"), nullptr);
  ASSERT_NE(find(d, "routed experts", "int8"), nullptr);
  EXPECT_EQ(find(d, "routed experts", "int8")->tensors, 3);
  EXPECT_EQ(find(d, "routed experts", "int4")->tensors, 2 * 5 * 3 * 3 - 3);
  EXPECT_EQ(find(d, "attention", "affine"), nullptr);
}

TEST(DescribeTarget, AHundredProblemsAreNotListedOneByOne) {
  TinyCheckpoint checkpoint = tiny_laguna({.experts = 60});
  for (int e = 0; e < 60; ++e)
    checkpoint.tensors.erase("model.layers.1.mlp.experts." + std::to_string(e) + ".up_proj.weight");
  EXPECT_EQ(describe(checkpoint).problems.size(), 20U);
}

TEST(CheckQuantisedNumbers, FindsTheOneScaleThatIsNoNumber) {
  TinyCheckpoint checkpoint = tiny_laguna({.expert_format = TinyFormat::kNvfp4});
  EXPECT_TRUE(check_quantised_numbers(*describe(checkpoint).store).empty());
  checkpoint.tensors.at("model.layers.1.mlp.experts.2.down_proj.weight_scale").data[5] = '\x7F';
  const auto problems = check_quantised_numbers(*describe(checkpoint).store);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("experts.2.down_proj.weight_scale"), std::string::npos);
}

TEST(CheckQuantisedNumbers, KnowsTheNumbersOfEveryFormat) {
  struct Case {
    TinyFormat format;
    const char* leaf;
  };
  for (const auto& [format, leaf] :
       {Case{TinyFormat::kNvfp4, "weight_scale"}, Case{TinyFormat::kMlxNvfp4, "scales"},
        Case{TinyFormat::kFp8, "weight_scale"}, Case{TinyFormat::kFp8, "weight"},
        Case{TinyFormat::kInt4, "weight_scale"}, Case{TinyFormat::kInt8, "weight_scale"},
        Case{TinyFormat::kAffine4, "scales"}, Case{TinyFormat::kAffine8, "biases"}}) {
    TinyCheckpoint checkpoint;
    testing::add_tiny_linear(checkpoint, "w", 4, 64, format, 1);
    const TempDir folder;
    checkpoint.write(folder.path());
    EXPECT_TRUE(check_quantised_numbers(*open_weights(folder.path()).value()).empty()) << leaf;
    std::string& data = checkpoint.tensors.at(std::string("w.") + leaf).data;
    data.replace(data.size() - 2, 2, "\xff\x7f");  // the last two E4M3 bytes, or one bfloat16
    checkpoint.write(folder.path());
    const auto problems = check_quantised_numbers(*open_weights(folder.path()).value());
    ASSERT_EQ(problems.size(), 1U) << leaf;
    EXPECT_NE(problems[0].find(std::string("w.") + leaf), std::string::npos);
  }
}

}  // namespace
}  // namespace spindrift
