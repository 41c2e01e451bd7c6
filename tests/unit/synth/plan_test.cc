#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "io/json_config.h"
#include "synth/shapes.h"

namespace spindrift {
namespace {

using synth::CheckpointPlan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

CheckpointPlan plan(std::string_view shape, std::optional<int64_t> layers = {}) {
  auto planned = synth::plan_checkpoint(shape, layers);
  EXPECT_TRUE(planned.ok()) << planned.error().message;
  return planned.ok() ? std::move(planned).value() : CheckpointPlan();
}

JsonObject config(const CheckpointPlan& planned) {
  auto json = JsonObject::parse(planned.texts.front().text, planned.texts.front().name);
  EXPECT_TRUE(json.ok());
  return json.value();
}

TEST(SynthPlan, HasAsManyTensorsAsThePublishedReleases) {
  EXPECT_EQ(plan("s-2.1-nvfp4-0761412").tensors.size(), 145153U);
  EXPECT_EQ(plan("s-2.1-nvfp4").tensors.size(), 126721U);
  EXPECT_EQ(plan("s-2.1-dflash").tensors.size(), 69U);
  EXPECT_EQ(plan("xs-2.1-dflash").tensors.size(), 58U);
  EXPECT_EQ(plan("granite-3.0-8b-accelerator").tensors.size(), 20U);
}

// Published sizes of whole releases, headers included: a few megabytes at most are theirs.
TEST(SynthPlan, HasAsManyBytesAsThePublishedReleases) {
  const auto expect = [](std::string_view shape, double published, double slack) {
    const auto bytes = static_cast<double>(plan(shape).bytes());
    EXPECT_LE(bytes, published) << shape;
    EXPECT_GE(bytes, published * (1.0 - slack)) << shape;
  };
  expect("xs-2.1-nvfp4", 21'576'601'504.0, 0.001);
  expect("s-2.1-nvfp4-0761412", 71'916'714'120.0, 0.001);
  expect("s-2.1-nvfp4", 99'717'279'864.0, 0.001);
  expect("s-2.1-dflash", 2'229'962'896.0, 0.00001);
  EXPECT_EQ(plan("granite-3.0-8b-accelerator").bytes(), 3'355'705'344);
}

TEST(SynthPlan, NamesEveryTensorOnce) {
  for (const synth::Shape& shape : synth::shapes()) {
    const CheckpointPlan planned = plan(shape.name);
    std::set<std::string_view> names;
    for (const synth::PlannedTensor& tensor : planned.tensors) names.insert(tensor.name);
    EXPECT_EQ(names.size(), planned.tensors.size()) << shape.name;
    EXPECT_EQ(planned.texts.front().name, "config.json") << shape.name;
  }
}

TEST(SynthPlan, ASliceHasTheFirstLayersAndAConfigOfThem) {
  const CheckpointPlan slice = plan("xs-2.1-int4", 3);
  for (const synth::PlannedTensor& tensor : slice.tensors)
    EXPECT_THAT(tensor.name, ::testing::Not(HasSubstr("layers.3."))) << tensor.name;
  const JsonObject json = config(slice);
  EXPECT_EQ(json.get_int("num_hidden_layers").value(), 3);
  EXPECT_EQ(json.get_strings("layer_types").value().size(), 3U);
  const JsonObject groups =
      json.get_object("quantization_config").value().get_object("config_groups").value();
  EXPECT_THAT(groups.keys(), ElementsAre("group_0"));  // the eight-bit layers begin at 31
}

TEST(SynthPlan, ADraftersTapsAreSpreadOverTheLayersOfItsTarget) {
  const auto taps = [](std::string_view shape, std::optional<int64_t> layers) {
    const JsonObject dflash = config(plan(shape, layers)).get_object("dflash_config").value();
    EXPECT_EQ(dflash.get_int("num_target_layers").value(),
              layers.value_or(shape.front() == 'x' ? 40 : 48));
    return dflash.get_ints("target_layer_ids").value();
  };
  EXPECT_THAT(taps("xs-2.1-dflash", {}), ElementsAre(1, 13, 25, 33, 39));
  EXPECT_THAT(taps("s-2.1-dflash", {}), ElementsAre(1, 10, 19, 29, 38, 47));
  EXPECT_THAT(taps("xs-2.1-dflash", 8), ElementsAre(1, 2, 4, 5, 7));
  EXPECT_THAT(taps("xs-2.1-dflash", 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(taps("s-2.1-dflash", 7), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(SynthPlan, RefusesWhatThereIsNot) {
  const auto message = [](std::string_view shape, std::optional<int64_t> layers) {
    const auto planned = synth::plan_checkpoint(shape, layers);
    EXPECT_FALSE(planned.ok());
    EXPECT_EQ(planned.error().code, ErrorCode::kUsage);
    return planned.error().message;
  };
  EXPECT_THAT(message("xs-3", {}), HasSubstr("expected one of xs-2.1-nvfp4, "));
  EXPECT_THAT(message("xs-2.1-nvfp4", 41), HasSubstr("expected 1 to 40, found 41"));
  EXPECT_THAT(message("xs-2.1-nvfp4", 0), HasSubstr("found 0"));
  EXPECT_THAT(message("xs-2.1-dflash", 4), HasSubstr("expected at least 5"));
}

}  // namespace
}  // namespace spindrift
