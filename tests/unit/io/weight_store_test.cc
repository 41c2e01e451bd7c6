#include "io/weight_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "support/safetensors_builder.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SafetensorsBuilder;
using testing::TempDir;

class WeightStoreTest : public ::testing::Test {
 protected:
  WeightStoreTest() {
    dir_.write("model.safetensors", SafetensorsBuilder()
                                        .add("norm", "F32", {2}, "01234567")
                                        .add("layers.3.w", "BF16", {1, 2}, "abcd")
                                        .add("layers.10.w", "U8", {1}, "x")
                                        .file());
    store_ = open_weights(dir_.path()).value();
  }

  TempDir dir_;
  std::unique_ptr<WeightStore> store_;
};

TEST_F(WeightStoreTest, HandsOutTheBytesInPlace) {
  const TensorView norm = store_->get("norm", DType::kF32, {2}).value();
  EXPECT_EQ(norm.dtype, DType::kF32);
  EXPECT_THAT(norm.shape, ElementsAre(2));
  ASSERT_EQ(norm.bytes.size(), 8U);
  EXPECT_EQ(std::memcmp(norm.bytes.data(), "01234567", 8), 0);
  EXPECT_EQ(store_->get_any("norm").value().bytes.data(), norm.bytes.data());
}

TEST_F(WeightStoreTest, NamesFileTensorAndBothFormsOfAMismatch) {
  const std::string file = (dir_ / "model.safetensors").string();
  EXPECT_EQ(store_->get("norm", DType::kBf16, {2}).error().message,
            file + ": tensor `norm`: expected BF16 [2], found F32 [2]");
  const Error shape = store_->get("norm", DType::kF32, {2, 1}).error();
  EXPECT_EQ(shape.message, file + ": tensor `norm`: expected F32 [2, 1], found F32 [2]");
  EXPECT_EQ(shape.code, ErrorCode::kInvalid);
  const Error missing = store_->get("layers.4.w", DType::kBf16, {1, 2}).error();
  EXPECT_EQ(missing.message,
            dir_.path().string() + ": tensor `layers.4.w`: expected BF16 [1, 2], found nothing");
  EXPECT_EQ(missing.code, ErrorCode::kNotFound);
}

TEST_F(WeightStoreTest, ReportsWhatWasNeitherReadNorIgnored) {
  EXPECT_THAT(store_->unread(), ElementsAre("layers.10.w", "layers.3.w", "norm"));
  EXPECT_NE(store_->find("norm"), nullptr);
  EXPECT_TRUE(store_->has("layers.3.w"));
  EXPECT_FALSE(store_->get("norm", DType::kF32, {3}).ok());
  EXPECT_THAT(store_->unread(), ElementsAre("layers.10.w", "layers.3.w", "norm"))
      << "looking is not reading";
  EXPECT_TRUE(store_->get("norm", DType::kF32, {2}).ok());
  store_->ignore("layers.3.w");
  store_->ignore("absent");
  EXPECT_THAT(store_->unread(), ElementsAre("layers.10.w"));
  EXPECT_THAT(store_->ignored(), ElementsAre("layers.3.w"));
  store_->ignore("norm");
  EXPECT_THAT(store_->ignored(), ElementsAre("layers.3.w")) << "what was read stays read";
  EXPECT_TRUE(store_->get_any("layers.3.w").ok());
  EXPECT_THAT(store_->ignored(), IsEmpty());
}

TEST_F(WeightStoreTest, ListsNamesByPrefix) {
  EXPECT_THAT(store_->names(), ElementsAre("layers.10.w", "layers.3.w", "norm"));
  EXPECT_THAT(store_->names("layers."), ElementsAre("layers.10.w", "layers.3.w"));
  EXPECT_THAT(store_->names("layers.3"), ElementsAre("layers.3.w"));
  EXPECT_THAT(store_->names("x"), IsEmpty());
  EXPECT_EQ(store_->size(), 3U);
  EXPECT_EQ(store_->total_bytes(), 13);
}

TEST_F(WeightStoreTest, ScopesJoinNamesWithDots) {
  const WeightScope root{store_.get(), ""};
  const WeightScope layer = root / "layers" / 3;
  EXPECT_EQ(layer.name("w"), "layers.3.w");
  EXPECT_EQ((root / "layers" / "3").prefix, layer.prefix);
  EXPECT_TRUE(layer.has("w"));
  EXPECT_FALSE(layer.has("norm"));
  EXPECT_EQ(layer.find("w")->bytes, 4);
  EXPECT_TRUE(layer.get("w", DType::kBf16, {1, 2}).ok());
  (root / "layers" / 10).ignore("w");
  EXPECT_TRUE(root.get_any("norm").ok());
  EXPECT_THAT(store_->unread(), IsEmpty());
}

}  // namespace
}  // namespace spindrift
