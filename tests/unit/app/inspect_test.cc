#include "app/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "app/layout_bytes.h"
#include "support/safetensors_builder.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string folder(const char* name) { return (testing::repo_dir() / "models" / name).string(); }

TEST(Inspect, ADrafterFitsTheTargetItWasMadeForOnly) {
  const auto target = inspect_model(folder("laguna-tiny-nvfp4"), false);
  const auto drafter = inspect_model(folder("laguna-tiny-dflash"), false);
  ASSERT_TRUE(target.ok() && drafter.ok());
  EXPECT_EQ(target.value().role, ModelRole::kTarget);
  EXPECT_EQ(drafter.value().role, ModelRole::kDrafter);
  EXPECT_THAT(target.value().problems, IsEmpty());
  EXPECT_THAT(drafter.value().problems, IsEmpty());
  EXPECT_TRUE(check_pair(target.value(), drafter.value()).ok());
  Inspection deeper = target.value();
  deeper.facts->info.layers += 1;
  const Status refused = check_pair(deeper, drafter.value());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("num_target_layers"));
}

TEST(Inspect, FindsPartnersBesideAModel) {
  const auto target = inspect_model(folder("laguna-tiny-nvfp4"), false);
  ASSERT_TRUE(target.ok());
  EXPECT_THAT(find_partners(target.value()), Contains(folder("laguna-tiny-dflash")));
}

// Config of the demo drafter beside a file that holds one tensor of its own.
TEST(Inspect, NamesWhatAHeaderLacksAndWhatItHasTooMuch) {
  const testing::TempDir temp;
  std::filesystem::copy_file(folder("laguna-tiny-dflash") + "/config.json", temp / "config.json");
  testing::SafetensorsBuilder file;
  file.add("norm.weight", "BF16", {4}, std::string(8, '\0'));
  file.add("lm_head.weight", "BF16", {1, 2}, std::string(4, '\0'));
  temp.write("model.safetensors", file.file());
  const auto found = inspect_model(temp.path().string(), false);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_THAT(found.value().problems, Contains(HasSubstr("`norm.weight`: missing, or not of 256")));
  EXPECT_THAT(found.value().problems, Contains(HasSubstr("layer `fc`: missing")));
  const auto listed = list_models({temp.path().string()});
  ASSERT_TRUE(listed.ok());
  bool seen = false;
  for (const CatalogEntry& entry : listed.value()) {
    if (entry.name != temp.path().string()) continue;
    seen = true;
    EXPECT_FALSE(entry.loadable());
  }
  EXPECT_TRUE(seen);
}

TEST(Inspect, CountsTheBytesADecodedTokenReads) {
  const auto target = inspect_model(folder("laguna-tiny-nvfp4"), false);
  ASSERT_TRUE(target.ok());
  int64_t bytes = 0;
  for (const ModuleGroup& group : target.value().groups) {
    bytes += group.bytes;
    if (group.module == "embedding") {
      EXPECT_EQ(group.bytes_per_token, 256 * 2);
    }
    if (group.module == "routed experts") {
      EXPECT_EQ(group.bytes_per_token, group.bytes / 4);
    }
    if (group.module == "attention") {
      EXPECT_EQ(group.bytes_per_token, group.bytes);
    }
  }
  EXPECT_EQ(bytes, target.value().bytes);
}

// A thousand weights of every kind but the router's: the sums are known.
TEST(Inspect, ComparesWhatATokenReadsInEveryLayout) {
  std::vector<ModuleGroup> groups;
  for (const char* module : {"attention", "routed experts", "shared experts", "head"})
    groups.push_back({module, "bf16", 1, 2'048'000, 2'048'000});
  groups.push_back({"norms", "bf16", 1, 100, 100});
  const auto layouts = compare_layouts(groups);
  ASSERT_EQ(layouts.size(), 5U);
  EXPECT_EQ(layouts.front().layout, "MLX 4-bit");
  EXPECT_EQ(layouts.front().bytes_per_token, 4 * 576'000 + 100);
  EXPECT_EQ(layouts[1].layout, "NVFP4");
  EXPECT_EQ(layouts[1].bytes_per_token, 2 * 2'048'000 + 2 * 576'000 + 100);
  EXPECT_EQ(layouts.back().layout, "bf16");
  EXPECT_EQ(layouts.back().bytes_per_token, 4 * 2'048'000 + 100);
  // What is stored in another format has as many weights.
  groups[1] = {"routed experts", "nvfp4", 1, 576'000, 576'000};
  EXPECT_EQ(compare_layouts(groups).back().bytes_per_token, 4 * 2'048'000 + 100);
  groups[1].format = "int";
  EXPECT_TRUE(compare_layouts(groups).empty());
}

}  // namespace
}  // namespace spindrift
