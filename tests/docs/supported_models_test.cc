#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "drafters/registry.h"
#include "io/weight_store.h"
#include "models/registry.h"
#include "nn/formats.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

// A stored checkpoint with reference outputs, which a test computes again. `what` it has is
// supported because of it.
struct Proof {
  std::string_view what, folder;
};

constexpr std::string_view kOwn[] = {"tests/golden/variants/", "tests/golden/bases/"};
constexpr std::string_view kShared = "../shared/models/";

// Each weight format of nn::linear_formats(), by its name.
constexpr Proof kFormatProofs[] = {
    {"bf16", "tests/golden/variants/sinks"},
    {"f16", "tests/golden/variants/f16"},
    {"f32", "tests/golden/variants/f32"},
    {"nvfp4", "tests/golden/variants/mixed-precision"},
    {"mlx-nvfp4", "tests/golden/variants/dflash-mlx-nvfp4"},
    {"fp8", "tests/golden/variants/mixed-precision"},
    {"int", "tests/golden/variants/mixed-precision"},
    {"affine", "tests/golden/variants/mlx-affine-g32"},
};

constexpr Proof kLagunaProofs[] = {
    {"XS.2's config: `gating` true, loose scalars in `rope_parameters`, `attention_factor` 1",
     "../shared/models/shapes/xs2-nvfp4"},
    {"XS 2.1's config: per-head gate, heads a layer, full and sliding layers, YaRN",
     "models/laguna-tiny-nvfp4"},
    {"S 2.1's config and weights: experts of the last layers and shared experts plain, scales "
     "without a dimension, derived YaRN multiplier",
     "../shared/models/shapes/s21-nvfp4-mixed"},
    {"M.1's config: per-element gate, full layers, dense layers first, whole heads rotated",
     "../shared/models/shapes/m1-bf16"},
    {"soft cap of router logits", "../shared/models/shapes/softcap-bf16"},
    {"attention sinks on sliding layers", "tests/golden/variants/sinks"},
    {"router scores `sqrtsoftplus`", "tests/golden/variants/sqrtsoftplus"},
    {"router scores `softmax`", "tests/golden/variants/softmax-scores"},
    {"flat `rope_parameters` over full and sliding layers", "tests/golden/variants/flat-rope"},
    {"INT4 with INT8 in the last layers, group 128, rotated", "../shared/models/laguna-tiny-int4"},
    {"FP8 in blocks of 128 x 128, rotated", "../shared/models/laguna-tiny-fp8"},
    {"several compressed-tensors formats in one checkpoint",
     "tests/golden/variants/mixed-precision"},
    {"MLX affine, group 64, router in 8 bits, embedding and head quantised",
     "../shared/models/laguna-tiny-mlx-4bit"},
    {"MLX affine, group 32, 4 and 8 bits", "tests/golden/variants/mlx-affine-g32"},
    {"MLX affine, group 128", "tests/golden/variants/mlx-affine-g128"},
    {"MLX with gate and up joined", "tests/golden/variants/mlx-joined"},
    {"MLX nvfp4", "../shared/models/laguna-tiny-mlx-nvfp4"},
    {"experts in one three-dimensional tensor, as transformers saves them",
     "tests/golden/variants/fused-experts"},
    {"names under `language_model.`", "tests/golden/variants/language-model-prefix"},
};

constexpr Proof kDrafterProofs[] = {
    {"`dflash`: bf16, joined q, k and v", "models/laguna-tiny-dflash"},
    {"`dflash`: names under `model.`, q, k and v apart",
     "tests/golden/variants/dflash-prefixed-split"},
    {"`dflash`: NVFP4", "tests/golden/variants/dflash-nvfp4"},
    {"`dflash`: FP8", "tests/golden/variants/dflash-fp8"},
    {"`dflash`: INT4", "tests/golden/variants/dflash-int4"},
    {"`dflash`: INT4, names under `model.`, q, k and v apart",
     "tests/golden/variants/dflash-prefixed-split-int4"},
    {"`dflash`: MLX affine", "tests/golden/variants/dflash-mlx-affine"},
    {"`dflash`: MLX nvfp4", "tests/golden/variants/dflash-mlx-nvfp4"},
    {"`mlp_speculator`: safetensors, tied, first names alone, scaled input",
     "models/granite-tiny-accelerator"},
    {"`mlp_speculator`: `.bin` in float16, tied, one storage under all names",
     "tests/golden/bases/bigcode-gelu-accelerator"},
    {"`mlp_speculator`: `.bin`, tied, a copy for each stage",
     "tests/golden/bases/llama-head80-accelerator"},
    {"`mlp_speculator`: untied, `inner_dim` 0, a config without flags",
     "tests/golden/bases/llama2-linear-accelerator"},
    {"`mlp_speculator`: Arctic's, `.bin` with bare names, misspelt key",
     "tests/golden/bases/llama3-rope-arctic"},
};

constexpr Proof kBaseProofs[] = {
    {"Granite 3: four multipliers, tied head, `rope_theta`", "models/granite-tiny"},
    {"GPTBigCode: GELU by tanh", "../shared/models/gptbigcode-random"},
    {"GPTBigCode: exact GELU; byte BPE with single digits", "tests/golden/bases/bigcode-gelu"},
    {"Llama: biases, tied head, grouped key-value heads, `rope_parameters`",
     "../shared/models/llama-biased-random"},
    {"Llama: biases, a head size of its own (80), a key-value head for each query head; Metaspace",
     "tests/golden/bases/llama-head80"},
    {"Llama: untied head, rope scaling `linear`; SentencePiece-style BPE with byte fallback",
     "tests/golden/bases/llama2-linear"},
    {"Llama: untied head, rope scaling `llama3`; Llama 3's regex",
     "tests/golden/bases/llama3-rope"},
};

std::string_view proof_of(std::string_view what) {
  for (const Proof& proof : kFormatProofs)
    if (proof.what == what) return proof.folder;
  ADD_FAILURE() << "no stored checkpoint has the format " << what;
  return {};
}

void list(std::ostream& page, const char* title, std::span<const Proof> proofs) {
  page << "\n## " << title << "\n\n| what | stored checkpoint |\n|---|---|\n";
  for (const Proof& proof : proofs) page << "| " << proof.what << " | `" << proof.folder << "` |\n";
}

// What docs/supported-models.md says, from the tables that loading itself goes by.
std::string supported_models_page() {
  std::ostringstream page;
  page << "# Supported models\n\n"
       << "Generated from the program's own tables; a test compares. To write it anew after a "
          "change:\n"
       << "`SPINDRIFT_WRITE_DOCS=1 ./dev test -R docs_test`.\n\n"
       << "## Targets\n\n"
       << "| family | `model_type` | `architectures` |\n|---|---|---|\n";
  for (const TargetFamily& family : target_families())
    page << "| " << family.description << " | `" << family.name << "` | `" << family.architecture
         << "` |\n";
  page << "\n## Drafters\n\n| kind | `--draft-kind` | `architectures` |\n|---|---|---|\n";
  for (const DrafterKind& kind : drafter_kinds())
    page << "| " << kind.description << " | `" << kind.name << "` | `" << kind.architectures
         << "` |\n";
  page << "\n## Weight formats\n\n"
       << "Decided layer by layer from the tensors that are there, whatever the family.\n\n"
       << "| format | tensors of a layer | stored checkpoint |\n|---|---|---|\n";
  for (const nn::LinearFormat* format : nn::linear_formats())
    page << "| " << format->name << " | " << format->expected << " | `" << proof_of(format->name)
         << "` |\n";
  list(page, "Laguna's configs and layouts", kLagunaProofs);
  list(page, "Granite, GPTBigCode and Llama", kBaseProofs);
  list(page, "Drafters' layouts", kDrafterProofs);
  return page.str();
}

// Whether a checkpoint that a proof names is one that tests compute: a folder with golden outputs.
void expect_stored(const Proof& proof) {
  if (proof.folder.starts_with(kShared)) {
    const auto shared = testing::shared_dir_setting() / "models";
    if (!std::filesystem::exists(shared)) return;  // the tests of its folders are skipped by name
    EXPECT_TRUE(std::filesystem::exists(shared / proof.folder.substr(kShared.size()) / "golden"))
        << proof.folder;
    return;
  }
  EXPECT_TRUE(std::filesystem::exists(testing::repo_dir() / proof.folder / "golden"))
      << proof.folder;
}

std::vector<Proof> all_proofs() {
  std::vector<Proof> all;
  for (const std::span<const Proof> table :
       {std::span<const Proof>(kFormatProofs), std::span<const Proof>(kLagunaProofs),
        std::span<const Proof>(kBaseProofs), std::span<const Proof>(kDrafterProofs)})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

TEST(SupportedModels, EveryClaimHasAStoredCheckpointWithOutputs) {
  for (const Proof& proof : all_proofs()) expect_stored(proof);
}

TEST(SupportedModels, NoCheckpointIsStoredForNothing) {
  const std::vector<Proof> all = all_proofs();
  for (const std::string_view own : kOwn) {
    for (const auto& entry : std::filesystem::directory_iterator(testing::repo_dir() / own)) {
      const std::string folder = std::string(own) + entry.path().filename().string();
      if (!std::filesystem::exists(entry.path() / "golden")) continue;
      EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Proof& proof) {
        return proof.folder == folder;
      })) << folder;
    }
  }
}

TEST(SupportedModels, AStoredCheckpointHasTheFormatThatItProves) {
  for (const Proof& proof : kFormatProofs) {
    const auto folder = testing::repo_dir() / proof.folder;
    const auto store = open_weights(folder);
    ASSERT_TRUE(store.ok()) << store.error().message;
    bool found = false;
    for (const std::string_view name : store.value()->names()) {
      const WeightScope layer{store.value().get(), std::string(name.substr(0, name.rfind('.')))};
      found = found || nn::stored_format(layer) == proof.what;
    }
    EXPECT_TRUE(found) << proof.what << " in " << proof.folder;
  }
}

TEST(SupportedModels, ThePageSaysWhatTheTablesSay) {
  const auto file = testing::repo_dir() / "docs" / "supported-models.md";
  if (std::getenv("SPINDRIFT_WRITE_DOCS") != nullptr)
    std::ofstream(file) << supported_models_page();
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), supported_models_page());
}

}  // namespace
}  // namespace spindrift
