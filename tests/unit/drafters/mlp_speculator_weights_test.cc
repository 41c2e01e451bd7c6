#include <gtest/gtest.h>

#include <algorithm>

#include "drafters/mlp_speculator/weights.h"
#include "unit/drafters/mlp_speculator_fixture.h"

namespace spindrift::testing {
namespace {

struct Loaded {
  std::unique_ptr<WeightStore> store;
  Result<mlp_speculator::Weights> weights;
};

Loaded load(const MlpTensors& tensors, const mlp_speculator::Config& config) {
  const TempDir folder;
  tensors.write(folder);
  auto store = open_weights(folder.path()).value();
  auto weights = mlp_speculator::load_weights(*store, config);
  return {std::move(store), std::move(weights)};
}

TEST(MlpSpeculatorWeights, EachTensorMissingTooManyOrMisshapenIsNamed) {
  for (const bool tied : {false, true}) {
    const auto config = mlp_config(tied);
    const MlpTensors whole(config, false);
    ASSERT_TRUE(load(whole, config).weights.ok());
    for (const auto& [name, tensor] : whole.tensors) {
      SCOPED_TRACE(name);
      MlpTensors missing = whole;
      missing.tensors.erase(name);
      const auto without = load(missing, config);
      ASSERT_FALSE(without.weights.ok());
      // load_linear names the layer, without the leaf.
      const std::string layer = name.substr(0, name.rfind('.'));
      EXPECT_NE(without.weights.error().message.find("speculator." + layer), std::string::npos)
          << without.weights.error().message;
      MlpTensors misshapen = whole;
      misshapen.tensors[name].shape[0] += 1;
      const auto row = tensor.values.size() / static_cast<size_t>(tensor.shape[0]);
      misshapen.tensors[name].values.resize(tensor.values.size() + row);
      const auto wrong = load(misshapen, config);
      ASSERT_FALSE(wrong.weights.ok());
      EXPECT_EQ(wrong.weights.error().code, ErrorCode::kInvalid);
      EXPECT_NE(wrong.weights.error().message.find("speculator." + name), std::string::npos);
    }
    MlpTensors more = whole;
    more.tensors["ln0.weight"] = {.shape = {2}, .values = {1, 1}};
    const auto extra = load(more, config);
    ASSERT_FALSE(extra.weights.ok());
    EXPECT_NE(extra.weights.error().message.find("speculator.ln0.weight"), std::string::npos);
  }
}

TEST(MlpSpeculatorWeights, TiedStagesShareTheFirstAndCopiesThatDifferAreAWarning) {
  const auto config = mlp_config(true);
  MlpTensors tensors(config, true);
  const auto same = load(tensors, config);
  ASSERT_TRUE(same.weights.ok()) << same.weights.error().message;
  EXPECT_TRUE(same.weights.value().warnings.empty());
  const auto& stages = same.weights.value().stages;
  EXPECT_EQ(stages[2].emb, stages[0].emb);
  EXPECT_EQ(stages[2].head, stages[0].head);
  EXPECT_EQ(stages[2].proj, stages[1].proj);
  EXPECT_NE(stages[1].proj, stages[0].proj);

  for (const char* name : {"emb.1.weight", "head.2.weight", "ln.1.bias", "proj.2.weight"}) {
    MlpTensors different = tensors;
    different.tensors[name].values.back() += 1;
    const auto loaded = load(different, config);
    ASSERT_TRUE(loaded.weights.ok()) << loaded.weights.error().message;
    ASSERT_EQ(loaded.weights.value().warnings.size(), 1U);
    EXPECT_NE(loaded.weights.value().warnings[0].find(name), std::string::npos);
    const auto& found = loaded.weights.value().stages;
    EXPECT_EQ(found[2].emb, found[0].emb);
    EXPECT_EQ(found[2].head, found[0].head);
    EXPECT_EQ(found[2].proj, found[1].proj);
    std::vector<float> row(static_cast<size_t>(config.inner));
    found[1].emb->read_row(config.vocab - 1, row);
    const auto& first = tensors.tensors["emb.0.weight"].values;
    EXPECT_TRUE(std::equal(row.begin(), row.end(), first.end() - config.inner));
    EXPECT_EQ(found[1].norm_bias, tensors.tensors["ln.0.bias"].values);
  }
}

TEST(MlpSpeculatorWeights, ATiedTensorIsStoredForAllStagesOrOnce) {
  const auto config = mlp_config(true);
  MlpTensors tensors(config, true);
  tensors.tensors.erase("emb.1.weight");
  const auto loaded = load(tensors, config);
  ASSERT_FALSE(loaded.weights.ok());
  EXPECT_NE(loaded.weights.error().message.find("speculator.emb.1.weight"), std::string::npos);
}

}  // namespace
}  // namespace spindrift::testing
