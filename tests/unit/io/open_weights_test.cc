#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "io/weight_store.h"
#include "support/safetensors_builder.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SafetensorsBuilder;
using testing::TempDir;

constexpr const char* kIndex = "model.safetensors.index.json";

std::string small_file(std::string_view name, std::string_view byte) {
  return SafetensorsBuilder().add(name, "U8", {1}, byte).file();
}

// Two shards with one tensor each and an index that fits them.
void write_shards(const TempDir& dir) {
  dir.write("1.safetensors", small_file("a", "A"));
  dir.write("2.safetensors", small_file("b", "B"));
  dir.write(kIndex, R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
}

Error refusal(const TempDir& dir) {
  const auto store = open_weights(dir.path());
  if (store.ok()) return {ErrorCode::kUsage, "accepted"};
  EXPECT_EQ(store.error().message.find('\n'), std::string::npos);
  return store.error();
}

TEST(OpenWeights, JoinsTheShardsOfAnIndex) {
  const TempDir dir;
  write_shards(dir);
  const auto store = open_weights(dir.path()).value();
  EXPECT_THAT(store->names(), ElementsAre("a", "b"));
  EXPECT_EQ(store->find("b")->file, (dir / "2.safetensors").string());
  EXPECT_EQ(std::memcmp(store->get_any("b").value().bytes.data(), "B", 1), 0);
}

TEST(OpenWeights, PrefersTheSingleFileOverTheIndex) {
  const TempDir dir;
  write_shards(dir);
  dir.write("model.safetensors", small_file("whole", "W"));
  EXPECT_THAT(open_weights(dir.path()).value()->names(), ElementsAre("whole"));
}

TEST(OpenWeights, FollowsTheLinksOfAHubSnapshot) {
  const TempDir dir;
  dir.write("blobs/123", small_file("a", "A"));
  std::filesystem::create_directory(dir / "snapshot");
  std::filesystem::create_symlink("../blobs/123", dir / "snapshot/model.safetensors");
  EXPECT_TRUE(open_weights(dir / "snapshot").ok());
}

TEST(OpenWeights, SaysWhichFilesItLookedFor) {
  const TempDir dir;
  const Error error = refusal(dir);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(
      error.message,
      HasSubstr("expected model.safetensors, pytorch_model.bin or the .index.json of either"));
}

TEST(OpenWeights, RefusesAMissingShardByName) {
  const TempDir dir;
  write_shards(dir);
  std::filesystem::remove(dir / "2.safetensors");
  const Error error = refusal(dir);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_THAT(error.message, HasSubstr("2.safetensors"));
}

TEST(OpenWeights, RefusesThingsThatAreNoFiles) {
  const TempDir dir;
  write_shards(dir);
  std::filesystem::remove(dir / "2.safetensors");
  std::filesystem::create_directory(dir / "2.safetensors");
  EXPECT_THAT(refusal(dir).message,
              HasSubstr("2.safetensors: expected a regular file, found a folder"));
  std::filesystem::create_directory(dir / "model.safetensors");
  EXPECT_THAT(refusal(dir).message,
              HasSubstr("model.safetensors: expected a regular file, found a folder"));
  std::filesystem::remove(dir / "model.safetensors");
  ASSERT_EQ(::mkfifo((dir / "model.safetensors").c_str(), 0600), 0);
  EXPECT_THAT(refusal(dir).message, HasSubstr("found a FIFO"));
}

TEST(OpenWeights, RefusesLinksThatLeadNowhere) {
  const TempDir dir;
  std::filesystem::create_symlink("gone", dir / "model.safetensors");
  EXPECT_EQ(refusal(dir).code, ErrorCode::kNotFound);
  std::filesystem::remove(dir / "model.safetensors");
  std::filesystem::create_symlink("model.safetensors", dir / "model.safetensors");
  EXPECT_EQ(refusal(dir).code, ErrorCode::kIo);
}

TEST(OpenWeights, RefusesShardsThatDisagreeWithTheIndex) {
  const TempDir dir;
  write_shards(dir);
  dir.write(
      kIndex,
      R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors", "c": "2.safetensors"}})");
  EXPECT_THAT(refusal(dir).message,
              HasSubstr("tensor `c`: expected it in 2.safetensors, found it in no shard"));
  dir.write(kIndex, R"({"weight_map": {"a": "2.safetensors", "b": "1.safetensors"}})");
  EXPECT_THAT(refusal(dir).message,
              HasSubstr("tensor `a`: expected it in 2.safetensors, found it in 1.safetensors"));

  write_shards(dir);
  const std::string extra =
      SafetensorsBuilder().add("b", "U8", {1}, "B").add("extra", "U8", {1}, "E").file();
  dir.write("2.safetensors", extra);
  EXPECT_THAT(refusal(dir).message, HasSubstr("tensor `extra`: expected every tensor of the shards "
                                              "here, found it only in 2.safetensors"));
  dir.write("2.safetensors",
            SafetensorsBuilder().add("a0", "U8", {1}, "B").add("b", "U8", {1}, "E").file());
  EXPECT_THAT(refusal(dir).message, HasSubstr("tensor `a0`: expected every tensor"));
  dir.write("2.safetensors",
            SafetensorsBuilder().add("a", "U8", {1}, "A").add("b", "U8", {1}, "B").file());
  EXPECT_THAT(
      refusal(dir).message,
      HasSubstr(
          "tensor `a`: expected it in one shard, found it in 1.safetensors and in 2.safetensors"));
}

TEST(OpenWeights, NamesTheShardThatIsBroken) {
  const TempDir dir;
  write_shards(dir);
  dir.write("1.safetensors", small_file("a", "A") + "x");
  EXPECT_THAT(refusal(dir).message,
              HasSubstr("1.safetensors: expected 1 bytes of data after the header, found 2"));
  dir.write("1.safetensors", "");
  EXPECT_THAT(refusal(dir).message, HasSubstr("1.safetensors: expected a safetensors file"));
}

TEST(OpenWeights, OpensTheDemoModels) {
  for (const char* name : {"laguna-tiny-nvfp4", "laguna-tiny-dflash"}) {
    const auto store = open_weights(testing::repo_dir() / "models" / name);
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_GT(store.value()->size(), 10U);
  }
}

TEST(OpenWeights, OpensEverySafetensorsFolderOfTheSharedModels) {
  SPINDRIFT_SHARED_OR_SKIP(models, "models");
  int opened = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(models)) {
    const std::string name = entry.path().filename().string();
    if (name != "model.safetensors" && name != kIndex) continue;
    const auto store = open_weights(entry.path().parent_path());
    ASSERT_TRUE(store.ok()) << store.error().message;
    EXPECT_GT(store.value()->size(), 0U);
    ++opened;
  }
  EXPECT_GE(opened, 10);
}

}  // namespace
}  // namespace spindrift
