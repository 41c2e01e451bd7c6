// What the loaders of Llama and GPTBigCode make of checkpoints with one thing wrong.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/registry.h"
#include "support/safetensors_builder.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

struct Tensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};
using Tensors = std::map<std::string, Tensor>;

class DenseWeights : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    base_ = testing::model_folder(GetParam());
    const auto store = open_weights(base_).value();
    for (const std::string_view name : store->names()) {
      const TensorView view = store->get_any(name).value();
      ASSERT_EQ(view.dtype, DType::kBf16);
      whole_[std::string(name)] = {
          "BF16",
          view.shape,
          {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()}};
    }
  }

  // Loads the base with these tensors; they are described first.
  Result<LoadedTarget> load(const Tensors& tensors) {
    const testing::TempDir folder;
    std::filesystem::copy_file(base_ / "config.json", folder / "config.json");
    testing::SafetensorsBuilder builder;
    for (const auto& [name, tensor] : tensors)
      builder.add(name, tensor.dtype, tensor.shape, tensor.bytes);
    folder.write("model.safetensors", builder.file());
    const auto description = describe_target(folder.path());
    problems_ = description.ok() ? description.value().problems : std::vector<std::string>{};
    return load_target(folder.path(), {});
  }

  // Refused with `code`, by a message that names the tensor's layer.
  void expect_refused(const Tensors& tensors, const std::string& name, ErrorCode code) {
    const auto loaded = load(tensors);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, code) << loaded.error().message;
    const std::string layer = name.substr(0, name.rfind('.'));
    EXPECT_NE(loaded.error().message.find(layer), std::string::npos) << loaded.error().message;
    EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos);
  }

  std::filesystem::path base_;
  Tensors whole_;
  std::vector<std::string> problems_;
};

TEST_P(DenseWeights, AWholeCheckpointLoadsAndHasNoProblems) {
  EXPECT_TRUE(load(whole_).ok());
  EXPECT_TRUE(problems_.empty());
}

TEST_P(DenseWeights, EachTensorThatIsMissingIsNamed) {
  for (const auto& [name, tensor] : whole_) {
    SCOPED_TRACE(name);
    Tensors tensors = whole_;
    tensors.erase(name);
    // A bias that is left alone makes a layer of no known format.
    const std::string layer = name.substr(0, name.rfind('.'));
    const bool half = tensors.contains(layer + ".bias") && whole_.at(name).shape.size() == 2;
    expect_refused(tensors, name, half ? ErrorCode::kUnsupported : ErrorCode::kNotFound);
  }
}

TEST_P(DenseWeights, EachTensorWithARowTooManyIsNamed) {
  for (const auto& [name, tensor] : whole_) {
    SCOPED_TRACE(name);
    Tensors tensors = whole_;
    Tensor& longer = tensors[name];
    longer.bytes.resize(longer.bytes.size() +
                        longer.bytes.size() / static_cast<size_t>(longer.shape[0]));
    ++longer.shape[0];
    expect_refused(tensors, name, ErrorCode::kInvalid);
  }
}

TEST_P(DenseWeights, EachTensorOfAnotherTypeIsNamed) {
  for (const auto& [name, tensor] : whole_) {
    SCOPED_TRACE(name);
    Tensors tensors = whole_;
    tensors[name].dtype = "U8";
    tensors[name].shape.back() *= 2;
    const auto loaded = load(tensors);
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().message.find(name.substr(0, name.rfind('.'))), std::string::npos)
        << loaded.error().message;
  }
}

TEST_P(DenseWeights, ATensorTooManyIsNamed) {
  Tensors tensors = whole_;
  tensors["adapter.weight"] = {"BF16", {1}, std::string(2, '\0')};
  expect_refused(tensors, "adapter.weight", ErrorCode::kInvalid);
  ASSERT_EQ(problems_.size(), 1U);
  EXPECT_NE(problems_[0].find("`adapter.weight`"), std::string::npos);
}

TEST_P(DenseWeights, RotaryTablesMasksAndATiedHeadsCopyArePassedOver) {
  const bool bigcode = whole_.contains("transformer.wte.weight");
  const std::string layer = bigcode ? "transformer.h.0.attn." : "model.layers.0.self_attn.";
  Tensors tensors = whole_;
  for (const char* leaf : {"bias", "masked_bias", "rotary_emb.inv_freq"}) {
    if (bigcode == std::string_view(leaf).ends_with("bias"))
      tensors[layer + leaf] = {"F32", {1}, std::string(4, '\0')};
  }
  if (!whole_.contains("lm_head.weight"))
    tensors["lm_head.weight"] = {"BF16", {1, 1}, std::string(2, '\0')};
  const auto loaded = load(tensors);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_TRUE(problems_.empty()) << problems_[0];
}

INSTANTIATE_TEST_SUITE_P(Bases, DenseWeights,
                         ::testing::Values("bases/bigcode-gelu", "bases/llama-head80",
                                           "bases/llama2-linear", "bases/llama3-rope"),
                         [](const auto& instance) {
                           std::string name = std::string(instance.param).substr(6);
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace spindrift
