#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "drafters/mlp_speculator/describe.h"
#include "drafters/registry.h"
#include "support/safetensors_builder.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

struct Bytes {
  int64_t stored = 0, of_a_draft = 0;
};

Bytes bytes_of(const std::vector<ModuleGroup>& groups) {
  Bytes sum;
  for (const ModuleGroup& group : groups) {
    sum.stored += group.bytes;
    sum.of_a_draft += group.bytes_per_token;
  }
  return sum;
}

TEST(MlpSpeculatorDescribe, TiedTensorsUnderManyNamesAreStoredOnceAndReadByEveryStage) {
  const auto head = describe_drafter(testing::model_folder("bases/bigcode-gelu-accelerator"))
                        .value();  // 4 stages
  EXPECT_THAT(head.problems, ::testing::IsEmpty());
  constexpr int64_t kHalf = 2, kVocab = 422, kInner = 16, kHidden = 32;
  const Bytes bytes = bytes_of(head.groups);
  EXPECT_EQ(bytes.stored,
            kHalf * (2 * kVocab * kInner + kInner * kHidden + kInner * kInner + 2 * kInner));
  EXPECT_EQ(bytes.stored, head.store->total_bytes());
  EXPECT_EQ(bytes.of_a_draft, kHalf * (4 * kVocab * kInner + 4 * kInner + kInner * kHidden +
                                       3 * kInner * kInner + 4 * 2 * kInner));
}

// A head's file with a true header and a hole for data.
void write_sparse(const mlp_speculator::Config& c, const std::filesystem::path& path) {
  std::string json = "{";
  int64_t at = 0;
  const auto add = [&](const std::string& name, std::vector<int64_t> shape) {
    int64_t bytes = 2;
    std::string sizes;
    for (const int64_t n : shape) {
      bytes *= n;
      sizes.append(sizes.empty() ? "" : ",").append(std::to_string(n));
    }
    json.append(at == 0 ? "\"" : ",\"").append("speculator.").append(name);
    json.append("\":{\"dtype\":\"BF16\",\"shape\":[").append(sizes);
    json.append("],\"data_offsets\":[").append(std::to_string(at)).append(",");
    json.append(std::to_string(at += bytes)).append("]}");
  };
  for (int i = 0; i < c.stages; ++i) {
    const std::string n = std::to_string(i);
    if (!c.tied || i < 2) add("proj." + n + ".weight", {c.inner, i == 0 ? c.hidden : c.inner});
    if (c.tied && i > 0) continue;
    add("emb." + n + ".weight", {c.vocab, c.inner});
    add("head." + n + ".weight", {c.vocab, c.inner});
    add("ln." + n + ".weight", {c.inner});
    add("ln." + n + ".bias", {c.inner});
  }
  const std::string head = testing::safetensors_file(json + "}", "");
  std::ofstream(path, std::ios::binary) << head;
  std::filesystem::resize_file(path, head.size() + static_cast<uintmax_t>(at));
}

// Bytes of a draft of all stages, as computed from the published shapes.
TEST(MlpSpeculatorDescribe, PublishedShapesReadPerDraftWhatTheirSizesSay) {
  struct Published {
    mlp_speculator::Config config;
    double gigabytes;
  };
  const auto shape = [](int64_t hidden, int64_t inner, int64_t vocab, int stages, bool tied) {
    mlp_speculator::Config c;
    c.hidden = hidden;
    c.inner = inner;
    c.vocab = vocab;
    c.stages = stages;
    c.tied = tied;
    return c;
  };
  const std::vector<Published> published = {
      {shape(4096, 4096, 49155, 4, true), 1.74},    // granite-3.0-8b-instruct
      {shape(6144, 4096, 49152, 4, false), 1.76},   // granite-20b-code-instruct
      {shape(4096, 3072, 128256, 4, false), 3.23},  // llama3-8b
  };
  for (const auto& [config, gigabytes] : published) {
    const testing::TempDir folder;
    write_sparse(config, folder / "model.safetensors");
    const auto store = open_weights(folder.path()).value();
    EXPECT_THAT(mlp_speculator::check_headers(*store, config).problems(), ::testing::IsEmpty());
    const auto bytes = bytes_of(mlp_speculator::module_groups(*store, config));
    EXPECT_NEAR(static_cast<double>(bytes.of_a_draft) / 1e9, gigabytes, 0.05 * gigabytes);
  }
}

}  // namespace
}  // namespace spindrift
