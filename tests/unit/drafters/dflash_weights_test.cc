#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "drafters/dflash/weights.h"
#include "kernels/registry.h"
#include "unit/drafters/dflash_fixture.h"

namespace spindrift::testing {
namespace {

NamedTensors published() { return random_dflash_tensors(small_dflash_config()); }

Error load_error(const NamedTensors& tensors) {
  StoredTensors stored(tensors);
  const auto weights = dflash::load_weights(stored.store(), small_dflash_config());
  EXPECT_FALSE(weights.ok());
  return weights.ok() ? Error{} : weights.error();
}

void expect_named(const Error& error, std::string_view text) {
  EXPECT_NE(error.message.find(text), std::string::npos) << error.message;
  EXPECT_NE(error.message.find("spindrift-"), std::string::npos) << error.message;
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

std::vector<std::byte> block_bytes(const NamedTensors& tensors) {
  const SmallDrafter small(small_dflash_config(), tensors);
  const Exec ex{.pool = nullptr, .kernels = &kernels::table(kernels::Isa::kScalar)};
  const MadeUpTaps taps(small.config, 30, 1);
  const auto state = small.drafter.open();
  taps.observe(small.drafter, *state, 30, 30, ex);
  const DraftCall call{.state = state.get(), .bonus = 3, .max_nodes = 7, .out = nullptr};
  Workspace ws;
  return bytes_of(small.drafter.block_hidden(std::span(&call, 1), ws, ex));
}

TEST(DFlashWeights, FusedAndSplitQkvWithAndWithoutPrefixComputeTheSameBits) {
  const auto expected = block_bytes(published());
  const NamedTensors split = split_qkv(published(), small_dflash_config());
  EXPECT_EQ(block_bytes(split), expected);
  for (const NamedTensors& tensors : {published(), split}) {
    NamedTensors prefixed;
    for (const auto& [name, tensor] : tensors) prefixed["model." + name] = tensor;
    EXPECT_EQ(block_bytes(prefixed), expected);
  }
}

TEST(DFlashWeights, EachMissingTensorIsNamed) {
  for (const auto& [name, tensor] : published()) {
    NamedTensors tensors = published();
    tensors.erase(name);
    const Error error = load_error(tensors);
    const bool qkv = name.find("qkv_proj") != std::string::npos;
    EXPECT_EQ(error.code, ErrorCode::kNotFound) << error.message;
    expect_named(error, qkv ? std::string_view("found none of them")
                            : std::string_view(name).substr(0, name.rfind(".weight")));
  }
}

TEST(DFlashWeights, ATensorNobodyAskedForIsNamed) {
  for (const char* name :
       {"embed_tokens.weight", "lm_head.weight", "aux_hidden_norms.2.weight",
        "layers.2.mlp.up_proj.weight", "layers.0.self_attn.q_proj.bias", "fc.bias"}) {
    NamedTensors tensors = published();
    tensors[name] = {{32}, std::vector<float>(32)};
    const Error error = load_error(tensors);
    EXPECT_EQ(error.code, ErrorCode::kInvalid);
    if (std::string_view(name).find("q_proj") == std::string_view::npos) expect_named(error, name);
  }
}

TEST(DFlashWeights, BothSpellingsOfQkvOrPartOfOneAreRefused) {
  const dflash::Config config = small_dflash_config();
  const NamedTensors split = split_qkv(published(), config);
  const std::string attention = "layers.1.self_attn.";
  NamedTensors both = split;
  both[attention + "qkv_proj.weight"] = published()[attention + "qkv_proj.weight"];
  expect_named(load_error(both), "found qkv_proj and q_proj and k_proj and v_proj");
  NamedTensors one_too_many = published();
  one_too_many[attention + "k_proj.weight"] = split.at(attention + "k_proj.weight");
  expect_named(load_error(one_too_many), "found qkv_proj and k_proj");
  for (const char* missing : {"q_proj", "k_proj", "v_proj"}) {
    NamedTensors part = split;
    part.erase(attention + missing + ".weight");
    const Error error = load_error(part);
    expect_named(error, "found only");
    expect_named(error, attention);
  }
}

TEST(DFlashWeights, ShapesMustFitTheConfig) {
  for (const auto& [name, tensor] : published()) {
    NamedTensors tensors = published();
    std::vector<int64_t> shape = tensor.shape;
    shape[0] += 1;
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    tensors[name] = {shape, std::vector<float>(static_cast<size_t>(count))};
    expect_named(load_error(tensors), name);
  }
}

TEST(DFlashWeights, CacheScalesOfQuantisedReleasesAreKnown) {
  NamedTensors tensors = published();
  tensors["layers.0.self_attn.k_scale"] = {{1}, {2.0F}};
  tensors["layers.0.self_attn.v_scale"] = {{1}, {2.0F}};
  StoredTensors stored(tensors);
  EXPECT_TRUE(dflash::load_weights(stored.store(), small_dflash_config()).ok());
  EXPECT_EQ(stored.store().ignored().size(), 2U);
}

}  // namespace
}  // namespace spindrift::testing
