#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/weight_store.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

TEST(OpenWeights, OpensEverySafetensorsFolderOfTheSharedModels) {
  SPINDRIFT_SHARED_OR_SKIP(models, "models");
  int opened = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(models)) {
    const std::string name = entry.path().filename().string();
    if (name != "model.safetensors" && name != "model.safetensors.index.json") continue;
    const auto store = open_weights(entry.path().parent_path());
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_GT(store.value()->size(), 0U);
    ++opened;
  }
  EXPECT_GE(opened, 10);
}

}  // namespace
}  // namespace spindrift
