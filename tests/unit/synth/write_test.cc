#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "core/bf16.h"
#include "core/thread_pool.h"
#include "io/weight_store.h"
#include "support/temp_dir.h"
#include "synth/fill.h"
#include "synth/new_file.h"
#include "synth/synth.h"
#include "synth/tensors.h"
#include "synth/write_weights.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;
using synth::CheckpointPlan;
using synth::Filler;
using testing::TempDir;

// Every format once, and a tensor of several blocks.
CheckpointPlan small_plan() {
  using synth::Format;
  synth::TensorList list;
  int i = 0;
  for (const Format format : {Format::kBf16, Format::kNvfp4, Format::kFp8, Format::kInt4,
                              Format::kInt8, Format::kAffine4, Format::kAffine8, Format::kMlxNvfp4})
    list.linear("layer." + std::to_string(i++), 8, 256, format);
  list.norm("norm", 64);
  list.matrix("wide", 1100, 1024, 0.5);
  CheckpointPlan plan;
  plan.tensors = std::move(list).take();
  plan.shard_bytes = 1 << 21;
  return plan;
}

CheckpointPlan float_plan() {
  synth::TensorList list;
  list.matrix("emb.0", 300, 70, 1.0);
  list.norm("ln.0", 70);
  CheckpointPlan plan;
  plan.container = CheckpointPlan::Container::kTorchBin;
  plan.tensors = std::move(list).take();
  synth::PlannedTensor copy = plan.tensors.front();
  copy.name = "emb.1.weight";
  copy.content.follows = plan.tensors.front().name;
  plan.tensors.push_back(copy);
  return plan;
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename().string()] = text.str();
  }
  return files;
}

void write(const CheckpointPlan& plan, const fs::path& folder, uint64_t seed, int threads,
           bool sparse = false) {
  ThreadPool pool(threads);
  const Filler filler(seed, plan.tensors);
  const bool torch = plan.container == CheckpointPlan::Container::kTorchBin;
  const auto writer = torch ? synth::write_torch_bin : synth::write_safetensors;
  const Status done = writer(plan, folder, filler, {&pool, nullptr}, sparse);
  ASSERT_TRUE(done.ok()) << done.error().message;
}

std::unique_ptr<WeightStore> open(const fs::path& folder) {
  auto store = open_weights(folder);
  EXPECT_TRUE(store.ok()) << store.error().message;
  return store.ok() ? std::move(store).value() : nullptr;
}

TEST(SynthWrite, ShardsHoldThePlannedTensorsAndNoMoreThanTheirLimit) {
  const TempDir folder;
  const CheckpointPlan plan = small_plan();
  write(plan, folder.path(), 7, 1);
  const auto store = open(folder.path());
  ASSERT_EQ(store->size(), plan.tensors.size());
  for (const synth::PlannedTensor& tensor : plan.tensors) {
    const TensorInfo* info = store->find(tensor.name);
    ASSERT_NE(info, nullptr) << tensor.name;
    EXPECT_EQ(info->dtype, tensor.dtype) << tensor.name;
    EXPECT_EQ(info->shape, tensor.shape) << tensor.name;
  }
  EXPECT_TRUE(fs::exists(folder / "model-00001-of-00002.safetensors"));
  EXPECT_TRUE(fs::exists(folder / "model.safetensors.index.json"));
}

TEST(SynthWrite, TheSameSeedGivesTheSameBytesOnAnyNumberOfThreads) {
  const TempDir one, four, other;
  write(small_plan(), one.path(), 7, 1);
  write(small_plan(), four.path(), 7, 4);
  write(small_plan(), other.path(), 8, 1);
  EXPECT_TRUE(contents(one.path()) == contents(four.path()));
  EXPECT_FALSE(contents(one.path()) == contents(other.path()));
}

TEST(SynthWrite, NormalElementsHaveTheAskedSize) {
  const CheckpointPlan plan = small_plan();
  const Filler filler(1, plan.tensors);
  const auto wide = std::find_if(plan.tensors.begin(), plan.tensors.end(),
                                 [](const auto& tensor) { return tensor.name == "wide.weight"; });
  std::vector<uint16_t> elements(Filler::kBlockBytes / sizeof(uint16_t));
  filler.fill(*wide, 0, std::as_writable_bytes(std::span(elements)));
  double sum = 0.0, squares = 0.0;
  for (const uint16_t element : elements) {
    const double value = bf16_to_float(element);
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(elements.size());
  EXPECT_NEAR(sum / count, 0.0, 0.005);
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.01);
}

TEST(SynthWrite, SparseFilesHaveTheSameHeadersAndVectorsAndNoMatrices) {
  const TempDir full, sparse;
  write(small_plan(), full.path(), 7, 1);
  write(small_plan(), sparse.path(), 7, 1, /*sparse=*/true);
  const auto a = open(full.path()), b = open(sparse.path());
  for (const synth::PlannedTensor& tensor : small_plan().tensors) {
    const auto filled = a->get_any(tensor.name).value().bytes;
    const auto holes = b->get_any(tensor.name).value().bytes;
    ASSERT_EQ(filled.size(), holes.size());
    if (synth::always_written(tensor)) {
      EXPECT_EQ(std::memcmp(filled.data(), holes.data(), holes.size()), 0) << tensor.name;
    } else {
      EXPECT_TRUE(std::all_of(holes.begin(), holes.end(), [](auto byte) {
        return byte == std::byte{0};
      })) << tensor.name;
    }
  }
}

// open_weights compares the checksums of a file as small as this.
TEST(SynthWrite, ABinHoldsThePlannedTensorsAndRightChecksums) {
  for (const bool sparse : {false, true}) {
    const TempDir folder;
    write(float_plan(), folder.path(), 7, 2, sparse);
    const auto store = open(folder.path());
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->size(), 3U);
    const auto first = store->get_any("emb.0.weight").value();
    const auto copy = store->get_any("emb.1.weight").value();
    EXPECT_EQ(first.shape, (std::vector<int64_t>{300, 70}));
    EXPECT_NE(first.bytes.data(), copy.bytes.data());
    EXPECT_EQ(std::memcmp(first.bytes.data(), copy.bytes.data(), first.bytes.size()), 0);
  }
}

TEST(SynthWrite, AFolderWithFilesIsLeftAsItIs) {
  const TempDir folder;
  folder.write("model.safetensors", "precious");
  const auto made = synth::synthesize({"xs-2.1-dflash", {}, 0, true}, folder.path(), {});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kUsage);
  EXPECT_EQ(contents(folder.path()).at("model.safetensors"), "precious");
  EXPECT_FALSE(synth::NewFile::create(folder / "model.safetensors", 1).ok());
}

}  // namespace
}  // namespace spindrift
