#include "io/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string refusal(std::string_view json) {
  const Result<ShardIndex> index = parse_shard_index(json, "i.json", ".safetensors");
  if (index.ok()) return "accepted";
  EXPECT_EQ(index.error().message.find('\n'), std::string::npos);
  return index.error().message;
}

TEST(ShardIndex, ListsFilesOnceAndTensorsWithTheirFile) {
  const ShardIndex index = parse_shard_index(
                               R"({"metadata": {"total_size": [1, {"x": 2}]}, "weight_map":
                                 {"b": "2.safetensors", "a": "1.safetensors", "c": "2.safetensors"}, "more": null})",
                               "i.json", ".safetensors")
                               .value();
  EXPECT_THAT(index.files, ElementsAre("1.safetensors", "2.safetensors"));
  EXPECT_THAT(index.tensors, ElementsAre(Pair("a", 0U), Pair("b", 1U), Pair("c", 1U)));
}

TEST(ShardIndex, RefusesFilesOutsideTheFolder) {
  for (const char* file :
       {"../a.safetensors", "/a.safetensors", "d/a.safetensors", "d\\\\a.safetensors", "..",
        ".safetensors", ".a.safetensors", "", "a.bin", "a.safetensors.index.json",
        "a\\u0000.safetensors", "a\\n.safetensors"})
    EXPECT_THAT(refusal(std::string(R"({"weight_map": {"w": ")") + file + "\"}}"),
                HasSubstr("tensor `w`: expected a file of this folder that ends in .safetensors"))
        << file;
}

TEST(ShardIndex, RefusesWhatIsNoIndex) {
  for (const char* json : {"", "{", "[]", "{}", R"({"weight_map": []})", R"({"weight_map": {}})",
                           R"({"weight_map": null})", R"({"weight_map": {"a": 1}})",
                           R"({"weight_map": {"a": "1.safetensors"}} x)",
                           "{\"weight_map\": {\"\xff\": \"1.safetensors\"}}"})
    EXPECT_THAT(refusal(json), HasSubstr("i.json: ")) << json;
}

TEST(ShardIndex, RefusesATensorOrAMapThatOccursTwice) {
  EXPECT_THAT(
      refusal(
          R"({"weight_map": {"a": "1.safetensors", "b": "1.safetensors", "a": "2.safetensors"}})"),
      HasSubstr("tensor `a`: expected it once"));
  EXPECT_THAT(
      refusal(R"({"weight_map": {"a": "1.safetensors"}, "weight_map": {"a": "1.safetensors"}})"),
      HasSubstr("key `weight_map`: expected it once"));
}

TEST(ShardIndex, BoundsTheNumberOfFilesAndTheNesting) {
  std::string many = R"({"weight_map": {)";
  for (size_t i = 0; i <= kMaxShards; ++i)
    many +=
        (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":\"" + std::to_string(i) + ".safetensors\"";
  EXPECT_THAT(refusal(many + "}}"), HasSubstr("files, found more"));
  EXPECT_NE(refusal("{\"x\":" + std::string(1'000'000, '[')), "accepted");
}

}  // namespace
}  // namespace spindrift
