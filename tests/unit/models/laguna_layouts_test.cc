#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/registry.h"
#include "models/registry.h"
#include "support/temp_dir.h"
#include "support/tiny_checkpoint.h"

// Laguna's mixtures as releases and repackings lay them out: the same weights, the same bits.
namespace spindrift {
namespace {

using testing::TempDir;
using testing::tiny_laguna;
using testing::TinyCheckpoint;
using testing::TinyFormat;
using testing::TinyLaguna;
using testing::TinyTensor;

constexpr const char* kSparseMlps[] = {"model.layers.1.mlp", "model.layers.2.mlp"};
constexpr const char* kLeaves[] = {"weight", "scales", "biases"};

TinyLaguna shape_of(TinyFormat format) {
  return {.expert_inner = 32, .expert_format = format};  // whole groups of 32
}

Result<LoadedTarget> load(const TinyCheckpoint& checkpoint) {
  const TempDir folder;
  checkpoint.write(folder.path());
  return load_target(folder.path(), {});
}

TargetDescription describe(const TinyCheckpoint& checkpoint) {
  const TempDir folder;
  checkpoint.write(folder.path());
  auto description = describe_target(folder.path());
  if (!description.ok()) ADD_FAILURE() << description.error().message;
  return std::move(description).value();
}

std::vector<float> logits(const TinyCheckpoint& checkpoint) {
  const auto target = load(checkpoint);
  if (!target.ok()) {
    ADD_FAILURE() << target.error().message;
    return {};
  }
  for (const std::string& warning : target.value().warnings) ADD_FAILURE() << warning;
  const std::vector<TokenId> tokens = {3, 1, 4, 1, 5, 9, 2, 6};
  const auto seq = target.value().model->open();
  const SeqRows rows{.seq = seq.get(), .tokens = tokens};
  Workspace ws;
  const Exec ex{.kernels = &kernels::table(kernels::default_isa().value())};
  const ConstRows all = target.value().model->forward(std::span(&rows, 1), {}, ws, ex).logits;
  return {all.data(), all.data() + all.rows() * all.cols()};
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_FALSE(a.empty());
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

TinyTensor take(TinyCheckpoint& checkpoint, const std::string& name) {
  TinyTensor tensor = std::move(checkpoint.tensors.at(name));
  checkpoint.tensors.erase(name);
  return tensor;
}

// Joins `mlp`.gate_proj and up_proj, leaf by leaf, as gate_up_proj.
void join(TinyCheckpoint& checkpoint, const std::string& mlp) {
  for (const std::string leaf : kLeaves) {
    if (!checkpoint.tensors.contains(mlp + ".gate_proj." + leaf)) continue;
    TinyTensor gate = take(checkpoint, mlp + ".gate_proj." + leaf);
    const TinyTensor up = take(checkpoint, mlp + ".up_proj." + leaf);
    gate.shape[0] += up.shape[0];
    gate.data += up.data;
    checkpoint.tensors[mlp + ".gate_up_proj." + leaf] = std::move(gate);
  }
}

// Stacks the layer `part` of every expert, leaf by leaf, as `mlp`.`owner`.`part`; plain weights
// with no leaf in their name if `bare`.
void stack(TinyCheckpoint& checkpoint, const std::string& mlp, const std::string& part,
           const std::string& owner, bool bare) {
  const int64_t experts = TinyLaguna{}.experts;
  const auto of = [&](int64_t e) {
    return mlp + ".experts." + std::to_string(e) + "." + part + ".";
  };
  for (const std::string leaf : kLeaves) {
    if (!checkpoint.tensors.contains(of(0) + leaf)) continue;
    TinyTensor all = take(checkpoint, of(0) + leaf);
    for (int64_t e = 1; e < experts; ++e) all.data += take(checkpoint, of(e) + leaf).data;
    all.shape.insert(all.shape.begin(), experts);
    checkpoint.tensors[mlp + "." + owner + "." + part + (bare ? "" : "." + leaf)] = std::move(all);
  }
}

void join_experts(TinyCheckpoint& checkpoint) {
  for (const std::string mlp : kSparseMlps)
    for (int64_t e = 0; e < TinyLaguna{}.experts; ++e)
      join(checkpoint, mlp + ".experts." + std::to_string(e));
}

void stack_experts(TinyCheckpoint& checkpoint, const std::string& owner, bool bare) {
  for (const char* mlp : kSparseMlps)
    for (const char* part : {"gate_up_proj", "gate_proj", "up_proj", "down_proj"})
      stack(checkpoint, mlp, part, owner, bare);
}

struct Layout {
  const char* name;
  bool joined;
  const char* owner;  // of the stacks; null = an expert a tensor
  bool bare;
};
constexpr Layout kLayouts[] = {
    {"transformers", true, "experts", true},      {"mlx-lm", false, "switch_mlp", false},
    {"mlx-lm joined", true, "switch_mlp", false}, {"experts joined", true, nullptr, false},
    {"experts stacked", false, "experts", true},
};

TinyCheckpoint laid_out(TinyCheckpoint checkpoint, const Layout& layout) {
  if (layout.joined) join_experts(checkpoint);
  if (layout.owner != nullptr) stack_experts(checkpoint, layout.owner, layout.bare);
  return checkpoint;
}

TEST(LagunaLayouts, PlainExpertsComputeTheSameBitsInEveryLayout) {
  for (const TinyFormat format : {TinyFormat::kBf16, TinyFormat::kF16, TinyFormat::kF32}) {
    const TinyCheckpoint published = tiny_laguna(shape_of(format));
    const std::vector<float> expected = logits(published);
    for (const Layout& layout : kLayouts) {
      SCOPED_TRACE(layout.name);
      expect_same_bits(expected, logits(laid_out(published, layout)));
    }
  }
}

TEST(LagunaLayouts, QuantisedExpertsComputeTheSameBitsInEveryLayoutWithLeaves) {
  for (const TinyFormat format :
       {TinyFormat::kAffine4, TinyFormat::kAffine8, TinyFormat::kMlxNvfp4}) {
    const TinyCheckpoint published = tiny_laguna(shape_of(format));
    const std::vector<float> expected = logits(published);
    for (const Layout& layout : kLayouts) {
      if (layout.bare) continue;
      SCOPED_TRACE(layout.name);
      expect_same_bits(expected, logits(laid_out(published, layout)));
    }
  }
}

TEST(LagunaLayouts, DenseAndSharedMlpsMayJoinGateAndUp) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  const std::vector<float> expected = logits(checkpoint);
  join(checkpoint, "model.layers.0.mlp");
  join(checkpoint, "model.layers.2.mlp.shared_expert");
  expect_same_bits(expected, logits(checkpoint));
  EXPECT_TRUE(describe(checkpoint).problems.empty());
}

TEST(LagunaLayouts, TheGatesRowsAreTheFirstHalf) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  const std::vector<float> expected = logits(checkpoint);
  const std::string mlp = "model.layers.0.mlp.";
  std::swap(checkpoint.tensors.at(mlp + "gate_proj.weight"),
            checkpoint.tensors.at(mlp + "up_proj.weight"));
  join(checkpoint, "model.layers.0.mlp");
  EXPECT_NE(expected, logits(checkpoint));
}

TEST(LagunaLayouts, ALanguageModelPrefixIsSeenThrough) {
  const TinyCheckpoint published = tiny_laguna({});
  TinyCheckpoint prefixed = published;
  prefixed.tensors.clear();
  for (const auto& [name, tensor] : published.tensors)
    prefixed.tensors["language_model." + name] = tensor;
  expect_same_bits(logits(published), logits(prefixed));

  const TargetDescription a = describe(published), b = describe(prefixed);
  EXPECT_TRUE(b.problems.empty());
  ASSERT_EQ(a.groups.size(), b.groups.size());
  for (size_t i = 0; i < a.groups.size(); ++i) {
    EXPECT_EQ(a.groups[i].module, b.groups[i].module);
    EXPECT_EQ(a.groups[i].tensors, b.groups[i].tensors);
  }
}

TEST(LagunaLayouts, APrefixOnSomeTensorsOnlyIsRefusedByName) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  checkpoint.tensors["language_model.model.norm.weight"] =
      checkpoint.tensors.at("model.norm.weight");
  const auto target = load(checkpoint);
  ASSERT_FALSE(target.ok());
  EXPECT_NE(target.error().message.find("language_model.model.norm.weight"), std::string::npos);
}

TEST(LagunaLayouts, AQuantisedRouterIsReadUnderEitherName) {
  TinyCheckpoint checkpoint = tiny_laguna({});
  const std::string mlp = "model.layers.1.mlp.";
  checkpoint.tensors.erase(mlp + "gate.weight");
  testing::add_tiny_linear(checkpoint, mlp + "gate", 5, 32, TinyFormat::kAffine8, 7);
  const std::vector<float> expected = logits(checkpoint);
  for (const std::string leaf : kLeaves)
    checkpoint.tensors[mlp + "gate.proj." + leaf] = take(checkpoint, mlp + "gate." + leaf);
  expect_same_bits(expected, logits(checkpoint));
  EXPECT_TRUE(describe(checkpoint).problems.empty());
}

struct Mixed {
  const char* what;
  std::function<void(TinyCheckpoint&)> change;
  const char* one;  // both in the error
  const char* other;
};

TEST(LagunaLayouts, TwoLayoutsInOneLayerAreRefusedNamingATensorOfEach) {
  const std::string mlp = kSparseMlps[1];
  const std::vector<Mixed> cases = {
      {"split and transformers' stack",
       [&](TinyCheckpoint& c) { stack(c, mlp, "down_proj", "experts", true); },
       "experts.0.gate_proj.weight", "experts.down_proj"},
      {"split and mlx-lm's stack",
       [&](TinyCheckpoint& c) { stack(c, mlp, "up_proj", "switch_mlp", false); },
       "experts.0.down_proj.weight", "switch_mlp.up_proj.weight"},
      {"both stacks",
       [&](TinyCheckpoint& c) {
         stack(c, mlp, "gate_proj", "switch_mlp", false);
         stack(c, mlp, "up_proj", "switch_mlp", false);
         stack(c, mlp, "down_proj", "experts", true);
       },
       "experts.down_proj", "switch_mlp.gate_proj.weight"},
      {"a stack joined and apart",
       [&](TinyCheckpoint& c) {
         for (const char* part : {"gate_proj", "up_proj", "down_proj"})
           stack(c, mlp, part, "switch_mlp", false);
         c.tensors[mlp + ".switch_mlp.gate_up_proj.weight"] =
             c.tensors.at(mlp + ".switch_mlp.up_proj.weight");
       },
       "switch_mlp.gate_up_proj.weight", "switch_mlp.gate_proj.weight"},
      {"one expert joined and apart",
       [&](TinyCheckpoint& c) {
         c.tensors[mlp + ".experts.3.gate_up_proj.weight"] =
             c.tensors.at(mlp + ".experts.3.up_proj.weight");
       },
       "experts.3.gate_up_proj.weight", "experts.3.gate_proj.weight"},
  };
  for (const Mixed& mixed : cases) {
    SCOPED_TRACE(mixed.what);
    TinyCheckpoint checkpoint = tiny_laguna({});
    mixed.change(checkpoint);
    const auto target = load(checkpoint);
    ASSERT_FALSE(target.ok());
    const std::string& message = target.error().message;
    EXPECT_EQ(target.error().code, ErrorCode::kInvalid);
    EXPECT_NE(message.find(mixed.one), std::string::npos) << message;
    EXPECT_NE(message.find(mixed.other), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);

    const TargetDescription description = describe(checkpoint);
    ASSERT_FALSE(description.problems.empty());
    EXPECT_NE(description.problems.front().find(mixed.one), std::string::npos);
    EXPECT_NE(description.problems.front().find(mixed.other), std::string::npos);
  }
}

TEST(LagunaLayouts, AStackOfAnotherShapeIsRefusedByName) {
  const TinyCheckpoint published = tiny_laguna({});
  const std::string name = std::string(kSparseMlps[0]) + ".experts.gate_up_proj";
  const std::vector<std::vector<int64_t>> shapes = {{5, 16, 64}, {5 * 32, 32}, {10, 16, 32}};
  for (const std::vector<int64_t>& shape : shapes) {
    TinyCheckpoint checkpoint = laid_out(published, kLayouts[0]);
    ASSERT_EQ(checkpoint.tensors.at(name).shape, (std::vector<int64_t>{5, 32, 32}));
    checkpoint.tensors.at(name).shape = shape;
    const auto target = load(checkpoint);
    ASSERT_FALSE(target.ok());
    EXPECT_NE(target.error().message.find(name), std::string::npos) << target.error().message;
  }
}

TEST(LagunaLayouts, InspectCountsStacksAsRoutedExperts) {
  const TinyCheckpoint published = tiny_laguna({});
  const auto routed = [](const TargetDescription& description) {
    for (const ModuleGroup& group : description.groups)
      if (group.module == "routed experts") return group;
    ADD_FAILURE() << "no routed experts";
    return ModuleGroup{};
  };
  const ModuleGroup expected = routed(describe(published));
  for (const Layout& layout : kLayouts) {
    SCOPED_TRACE(layout.name);
    const TargetDescription description = describe(laid_out(published, layout));
    EXPECT_TRUE(description.problems.empty());
    const ModuleGroup group = routed(description);
    EXPECT_EQ(group.format, "bf16");
    EXPECT_EQ(group.bytes, expected.bytes);
    EXPECT_EQ(group.bytes_per_token, expected.bytes_per_token);
  }
}

TEST(LagunaLayouts, InspectNamesAStackThatIsMissing) {
  TinyCheckpoint checkpoint = laid_out(tiny_laguna({}), kLayouts[0]);
  checkpoint.tensors.erase(std::string(kSparseMlps[0]) + ".experts.down_proj");
  const TargetDescription description = describe(checkpoint);
  ASSERT_EQ(description.problems.size(), 1U);
  EXPECT_NE(description.problems[0].find("model.layers.1.mlp.experts.down_proj"),
            std::string::npos);
}

}  // namespace
}  // namespace spindrift
