#include "drafters/registry.h"

#include <gtest/gtest.h>

#include <string>

#include "io/file.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"
#include "unit/drafters/dflash_fixture.h"

namespace spindrift::testing {
namespace {

constexpr std::string_view kSpeculators = R"({"speculators_model_type": "dflash",
  "architectures": ["DFlashDraftModel"], "draft_vocab_size": 32000})";

// The demo drafter's folder, and a target of the shape that it was made for.
class DrafterRegistry : public ::testing::Test {
 protected:
  Error load_error(const std::filesystem::path& folder, std::string_view kind = kAutoDraftKind) {
    const auto loaded = load_drafter(folder, kind, target_, facts_);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  }
  JsonObject demo_config() { return JsonObject::parse_file(demo_ / "config.json").value(); }

  std::filesystem::path demo_ = repo_dir() / "models" / "laguna-tiny-dflash";
  LendingTarget target_{3072, 256, 6};
  TargetFacts facts_{.family = "laguna", .info = target_.info()};
  TempDir temp_;
};

TEST_F(DrafterRegistry, LoadsADrafterByItsConfigOrByItsKind) {
  for (const std::string_view kind : {kAutoDraftKind, std::string_view("dflash")}) {
    const auto loaded = load_drafter(demo_, kind, target_, facts_);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    EXPECT_EQ(loaded.value().drafter->kind(), "dflash");
    EXPECT_EQ(loaded.value().drafter->max_nodes(), 11);
    ASSERT_EQ(loaded.value().drafter->taps().size(), 2U);
    EXPECT_EQ(loaded.value().drafter->taps()[1], (Tap{Tap::Kind::kAfterLayer, 5}));
  }
}

TEST_F(DrafterRegistry, EveryKindIsListedAndRecognised) {
  EXPECT_EQ(drafter_kind_of(demo_config()), "dflash");
  std::vector<std::string_view> names;
  for (const DrafterKind& kind : drafter_kinds()) names.push_back(kind.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"dflash", "mlp_speculator"}));
  const auto target = JsonObject::parse(R"({"architectures": ["LagunaForCausalLM"]})", "t");
  EXPECT_EQ(drafter_kind_of(target.value()), "");
  EXPECT_EQ(check_drafter(target.value()).error().code, ErrorCode::kUnsupported);
}

TEST_F(DrafterRegistry, ChecksAConfigAndAPairingWithoutWeights) {
  EXPECT_TRUE(check_drafter(demo_config()).ok());
  EXPECT_TRUE(check_drafter_pairing(demo_config(), facts_).ok());
  facts_.info.layers = 40;
  const Status status = check_drafter_pairing(demo_config(), facts_);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("dflash_config.num_target_layers"), std::string::npos);
}

TEST_F(DrafterRegistry, RefusesFoldersThatHoldNoDrafterByNamingWhatIsWrong) {
  EXPECT_EQ(load_error(temp_.path()).code, ErrorCode::kNotFound);
  temp_.write("config.json", "{");
  EXPECT_EQ(load_error(temp_.path()).code, ErrorCode::kInvalid);
  temp_.write("config.json", R"({"architectures": ["LagunaForCausalLM"]})");
  EXPECT_EQ(load_error(temp_.path()).code, ErrorCode::kUnsupported);
  temp_.write("config.json", kSpeculators);
  const Error speculators = load_error(temp_.path());
  EXPECT_EQ(speculators.code, ErrorCode::kUnsupported);
  EXPECT_NE(speculators.message.find("\"speculators\""), std::string::npos);
  std::filesystem::copy_file(demo_ / "config.json", temp_ / "config.json",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(load_error(temp_.path()).code, ErrorCode::kNotFound);  // no weights
}

TEST_F(DrafterRegistry, AQuantizationConfigIsComparedWithTheTensors) {
  const std::string config = read_file(demo_ / "config.json", 1 << 20).value();
  const auto claim = [&](const std::string& target) {
    std::string text = config;
    text.insert(text.find('{') + 1, R"("quantization_config": {"format": "float-quantized",
      "config_groups": {"group_0": {"targets": [")" +
                                        target + R"("]}}},)");
    temp_.write("config.json", text);
  };
  std::filesystem::copy_file(demo_ / "model.safetensors", temp_ / "model.safetensors");
  claim("re:.*down_proj$");
  const auto described = describe_drafter(temp_.path());
  ASSERT_TRUE(described.ok()) << described.error().message;
  EXPECT_TRUE(described.value().problems.empty());
  ASSERT_EQ(described.value().warnings.size(), 1U);
  EXPECT_NE(described.value().warnings.front().find("float-quantized"), std::string::npos);
  EXPECT_NE(described.value().warnings.front().find("layers.0.mlp.down_proj"), std::string::npos);
  const auto loaded = load_drafter(temp_.path(), kAutoDraftKind, target_, facts_);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded.value().warnings, described.value().warnings);
  claim("no_such_layer");
  EXPECT_EQ(describe_drafter(temp_.path()).value().problems.size(), 1U);
  const Error error = load_error(temp_.path());
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_NE(error.message.find("no_such_layer"), std::string::npos);
}

TEST_F(DrafterRegistry, AnUnknownKindIsWrongUsage) {
  const Error error = load_error(demo_, "eagle");
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_NE(error.message.find("eagle"), std::string::npos);
}

TEST_F(DrafterRegistry, APairingIsRefusedBeforeWeightsAreOpened) {
  std::filesystem::copy_file(demo_ / "config.json", temp_ / "config.json");
  facts_.info.vocab = 100352;
  const Error error = load_error(temp_.path());
  EXPECT_EQ(error.code, ErrorCode::kInvalid);
  EXPECT_NE(error.message.find("`vocab_size`"), std::string::npos);
}

}  // namespace
}  // namespace spindrift::testing
