#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

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
using testing::TinyLaguna;
using testing::TinyTensor;

Result<LoadedTarget> load(const TinyCheckpoint& checkpoint) {
  const TempDir folder;
  checkpoint.write(folder.path());
  return load_target(folder.path(), {});
}

TinyTensor renamed(TinyCheckpoint& checkpoint, const std::string& from) {
  TinyTensor tensor = checkpoint.tensors.at(from);
  checkpoint.tensors.erase(from);
  return tensor;
}

TEST(LagunaWeights, EveryPlainAndPackedFormatLoads) {
  for (const TinyFormat format :
       {TinyFormat::kBf16, TinyFormat::kF16, TinyFormat::kF32, TinyFormat::kNvfp4}) {
    const auto target = load(tiny_laguna({.format = format, .expert_format = format}));
    ASSERT_TRUE(target.ok()) << target.error().message;
    EXPECT_EQ(target.value().family, "laguna");
    EXPECT_EQ(target.value().model->info().layers, 3);
    EXPECT_TRUE(target.value().store->unread().empty());
  }
}

TEST(LagunaWeights, EverySpellingOfRepackingsIsAccepted) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  const std::string mlp = "model.layers.1.mlp.", other = "model.layers.2.mlp.";
  for (const char* leaf : {"gate_proj", "up_proj", "down_proj"}) {
    const std::string tail = std::string(leaf) + ".weight";
    checkpoint.tensors[mlp + "shared_experts." + tail] =
        renamed(checkpoint, mlp + "shared_expert." + tail);
  }
  checkpoint.tensors[mlp + "gate.proj.weight"] = renamed(checkpoint, mlp + "gate.weight");
  checkpoint.tensors[mlp + "gate.e_score_correction_bias"] =
      renamed(checkpoint, mlp + "experts.e_score_correction_bias");
  checkpoint.tensors[other + "e_score_correction_bias"] =
      renamed(checkpoint, other + "experts.e_score_correction_bias");
  const auto target = load(checkpoint);
  EXPECT_TRUE(target.ok()) << target.error().message;
}

TEST(LagunaWeights, WhatReleasesCarryButNobodyUsesIsIgnoredByName) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  const TinyTensor scalar{"BF16", {1}, std::string(2, '\1')};
  checkpoint.tensors["model.layers.0.self_attn.k_scale"] = scalar;
  checkpoint.tensors["model.layers.2.self_attn.v_scale"] = scalar;
  checkpoint.tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = scalar;
  checkpoint.tensors["model.rotary_emb.inv_freq"] = scalar;
  const auto target = load(checkpoint);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target.value().store->ignored().size(), 4U);
}

TEST(LagunaWeights, ATiedHeadIsTheEmbedding) {
  TinyCheckpoint checkpoint = tiny_laguna({.tied = true});
  EXPECT_TRUE(load(checkpoint).ok());
  checkpoint.tensors["lm_head.weight"] = checkpoint.tensors["model.embed_tokens.weight"];
  EXPECT_TRUE(load(checkpoint).ok());
}

TEST(LagunaWeights, TheGatesRowsDecideItsKind) {
  for (const bool per_element : {false, true}) {
    TinyCheckpoint checkpoint = tiny_laguna({.per_element_gate = per_element});
    EXPECT_TRUE(load(checkpoint).ok());
    checkpoint.config["gating"] = "true";
    EXPECT_TRUE(load(checkpoint).ok());
    checkpoint.config["gating"] = per_element ? "\"per-head\"" : "\"per-element\"";
    const auto contradicted = load(checkpoint);
    ASSERT_FALSE(contradicted.ok());
    EXPECT_NE(contradicted.error().message.find("g_proj"), std::string::npos);
    EXPECT_NE(contradicted.error().message.find("gating"), std::string::npos);
  }
}

TEST(LagunaWeights, AContradictionWithTheDeclaredFormatIsAWarningThatNamesBoth) {
  TinyCheckpoint checkpoint = tiny_laguna({.expert_format = TinyFormat::kNvfp4});
  EXPECT_TRUE(load(checkpoint).value().warnings.empty());
  checkpoint.config["quantization_config"] = R"({"format": "float-quantized"})";
  const auto target = load(checkpoint);
  ASSERT_TRUE(target.ok());
  ASSERT_EQ(target.value().warnings.size(), 2U);
  EXPECT_NE(target.value().warnings[0].find("float-quantized"), std::string::npos);
  EXPECT_NE(target.value().warnings[1].find("nvfp4-pack-quantized"), std::string::npos);
}

TEST(LagunaWeights, EveryFormatIsKnownByTheNameThatItsConfigDeclares) {
  const std::pair<TinyFormat, const char*> cases[] = {
      {TinyFormat::kNvfp4, R"({"format": "nvfp4-pack-quantized"})"},
      {TinyFormat::kFp8, R"({"format": "float-quantized"})"},
      {TinyFormat::kInt4, R"({"format": "pack-quantized"})"},
      {TinyFormat::kInt8, R"({"format": "pack-quantized"})"},
      {TinyFormat::kAffine4, R"({"group_size": 32, "bits": 4})"},
      {TinyFormat::kAffine8, R"({"group_size": 32, "bits": 8})"},
      {TinyFormat::kMlxNvfp4, R"({"group_size": 16, "bits": 4, "mode": "nvfp4"})"},
  };
  for (const auto& [format, declared] : cases) {
    TinyCheckpoint checkpoint = tiny_laguna({.expert_inner = 32, .expert_format = format});
    checkpoint.config["quantization_config"] = declared;
    const auto target = load(checkpoint);
    ASSERT_TRUE(target.ok()) << target.error().message;
    for (const std::string& warning : target.value().warnings) ADD_FAILURE() << warning;
  }
}

struct BadTensors {
  const char* what;
  std::function<void(TinyCheckpoint&)> change;
  const char* named;  // in the error
};

TEST(LagunaWeights, EveryTensorThatIsMissingExtraOrDifferentIsRefusedByName) {
  const auto drop = [](const char* name) {
    return [name](TinyCheckpoint& c) { c.tensors.erase(name); };
  };
  const auto reshape = [](const char* name, std::vector<int64_t> shape) {
    return [name, shape](TinyCheckpoint& c) { c.tensors.at(name).shape = shape; };
  };
  const std::vector<BadTensors> cases = {
      {"embedding", drop("model.embed_tokens.weight"), "model.embed_tokens"},
      {"head", drop("lm_head.weight"), "lm_head"},
      {"final norm", drop("model.norm.weight"), "model.norm.weight"},
      {"norm", drop("model.layers.1.input_layernorm.weight"), "model.layers.1.input_layernorm"},
      {"q", drop("model.layers.0.self_attn.q_proj.weight"), "layers.0.self_attn.q_proj"},
      {"gate", drop("model.layers.2.self_attn.g_proj.weight"), "layers.2.self_attn.g_proj"},
      {"q norm", drop("model.layers.0.self_attn.q_norm.weight"), "layers.0.self_attn.q_norm"},
      {"router", drop("model.layers.1.mlp.gate.weight"), "layers.1.mlp.gate"},
      {"bias", drop("model.layers.1.mlp.experts.e_score_correction_bias"),
       "e_score_correction_bias"},
      {"expert", drop("model.layers.2.mlp.experts.4.down_proj.weight"),
       "layers.2.mlp.experts.4.down_proj"},
      {"shared", drop("model.layers.2.mlp.shared_expert.up_proj.weight"),
       "layers.2.mlp.shared_expert.up_proj"},
      {"q shape", reshape("model.layers.0.self_attn.q_proj.weight", {16, 64}),
       "layers.0.self_attn.q_proj.weight"},
      {"norm shape", reshape("model.layers.0.self_attn.k_norm.weight", {4, 4}),
       "layers.0.self_attn.k_norm.weight"},
      {"embedding shape", reshape("model.embed_tokens.weight", {32, 61}),
       "model.embed_tokens.weight"},
      {"gate rows", reshape("model.layers.0.self_attn.g_proj.weight", {4, 16}),
       "layers.0.self_attn.g_proj"},
      {"extra tensor",
       [](TinyCheckpoint& c) {
         c.tensors["model.layers.0.extra"] = {"F32", {1}, "1234"};
       },
       "model.layers.0.extra"},
      {"extra layer",
       [](TinyCheckpoint& c) {
         c.tensors["model.layers.3.input_layernorm.weight"] =
             c.tensors["model.layers.0.input_layernorm.weight"];
       },
       "model.layers.3.input_layernorm.weight"},
      {"extra expert",
       [](TinyCheckpoint& c) {
         testing::add_tiny_linear(c, "model.layers.1.mlp.experts.5.up_proj", 16, 32,
                                  TinyFormat::kBf16, 1);
       },
       "experts.5.up_proj"},
      {"both spellings",
       [](TinyCheckpoint& c) {
         c.tensors["model.layers.1.mlp.shared_experts.up_proj.weight"] =
             c.tensors["model.layers.1.mlp.shared_expert.up_proj.weight"];
       },
       "shared_experts.up_proj"},
      {"weights as integers",
       [](TinyCheckpoint& c) { c.tensors["model.layers.0.self_attn.q_proj.weight"].dtype = "I16"; },
       "layers.0.self_attn.q_proj"},
      {"norm as bytes",
       [](TinyCheckpoint& c) {
         c.tensors["model.norm.weight"] = {"U8", {32}, std::string(32, '\1')};
       },
       "model.norm.weight"},
  };
  for (const BadTensors& bad : cases) {
    TinyCheckpoint checkpoint = tiny_laguna({});
    bad.change(checkpoint);
    const auto target = load(checkpoint);
    ASSERT_FALSE(target.ok()) << bad.what;
    EXPECT_NE(target.error().message.find(bad.named), std::string::npos)
        << bad.what << ": " << target.error().message;
    EXPECT_EQ(target.error().message.find('\n'), std::string::npos);
  }
}

TEST(TargetRegistry, RefusesADrafterByNameAndPointsToItsFlag) {
  const auto refused = load_target(testing::repo_dir() / "models" / "laguna-tiny-dflash", {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().hint, "this is a DFlash drafter; give it as --draft-model");
}

TEST(TargetRegistry, RefusesAnUnknownFamilyNamingTheKnownOnes) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  checkpoint.config["model_type"] = "\"mamba\"";
  const auto refused = load(checkpoint);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("`model_type`"), std::string::npos);
  EXPECT_NE(refused.error().message.find("`laguna`"), std::string::npos);
  EXPECT_NE(refused.error().message.find("mamba"), std::string::npos);
}

}  // namespace
}  // namespace spindrift
