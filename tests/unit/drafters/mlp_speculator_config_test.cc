#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "drafters/mlp_speculator/config.h"
#include "support/config_cases.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

constexpr std::string_view kValid = R"({
  "architectures": ["MLPSpeculatorPreTrainedModel"], "model_type": "mlp_speculator",
  "emb_dim": 64, "inner_dim": 96, "vocab_size": 100, "n_predict": 3,
  "top_k_tokens_per_head": [4, 3, 2], "n_candidates": 6, "scale_input": true,
  "tie_weights": true, "torch_dtype": "bfloat16"})";

constexpr testing::ConfigReader<mlp_speculator::Config> kReader{
    .valid = kValid, .read = mlp_speculator::parse_config};

TargetFacts facts() {
  return {.family = "granite",
          .info = {.vocab = 100, .hidden = 64, .layers = 6, .max_context = 99}};
}

TEST(MlpSpeculatorConfig, ReadsEveryField) {
  const mlp_speculator::Config c = kReader.taken(kValid);
  EXPECT_EQ(c.hidden, 64);
  EXPECT_EQ(c.inner, 96);
  EXPECT_EQ(c.vocab, 100);
  EXPECT_EQ(c.stages, 3);
  EXPECT_EQ(c.top_k, (std::vector<int>{4, 3, 2}));
  EXPECT_EQ(c.candidates, 6);
  EXPECT_TRUE(c.scale_input);
  EXPECT_TRUE(c.tied);
}

TEST(MlpSpeculatorConfig, AbsentKeysHaveThePublishedDefaults) {
  const mlp_speculator::Config c = kReader.taken(R"({"model_type": "mlp_speculator"})");
  EXPECT_EQ(c.hidden, 4096);
  EXPECT_EQ(c.inner, 4096);
  EXPECT_EQ(c.vocab, 32000);
  EXPECT_EQ(c.stages, 3);
  EXPECT_EQ(c.top_k, (std::vector<int>{5, 4, 3}));
  EXPECT_EQ(c.candidates, 5);
  EXPECT_FALSE(c.scale_input);
  EXPECT_FALSE(c.tied);
}

TEST(MlpSpeculatorConfig, TakesEverySpellingThatIsInUse) {
  EXPECT_EQ(kReader.taken(kReader.with("\"inner_dim\": 96", "\"inner_dim\": 0")).inner, 64);
  EXPECT_EQ(kReader.taken(kReader.with("\"emb_dim\": 64", "\"hidden_size\": 64")).hidden, 64);
  const std::string arctic =
      kReader.with("[\"MLPSpeculatorPreTrainedModel\"]", "\"ArcticMLPSpeculatorPreTrainedModel\"");
  EXPECT_TRUE(kReader.parse(arctic).ok());
  EXPECT_EQ(kReader.taken(kReader.with("top_k_tokens_per_head", "top_k_tokesns_per_head")).top_k,
            (std::vector<int>{4, 3, 2}));
  const auto json = JsonObject::parse(arctic, "c").value();
  EXPECT_TRUE(mlp_speculator::recognises(json));
}

TEST(MlpSpeculatorConfig, EachViolationIsATypedErrorThatNamesFileKeyAndValue) {
  using enum ErrorCode;
  const std::string_view archs = "[\"MLPSpeculatorPreTrainedModel\"]";
  const std::vector<testing::Violation> violations = {
      {archs, "[\"GraniteForCausalLM\"]", kUnsupported, "architectures"},
      {archs, "[\"ArcticLSTMSpeculatorPreTrainedModel\"]", kUnsupported, "architectures"},
      {archs, "[\"MLPVariantSpeculatorPreTrainedModel\"]", kUnsupported, "architectures"},
      {archs, "\"MLPVariantSpeculatorPreTrainedModel\"", kUnsupported, "architectures"},
      {archs, "7", kInvalid, "architectures"},
      {"\"emb_dim\": 64", "\"emb_dim\": \"64.64\"", kUnsupported, "emb_dim"},
      {"\"inner_dim\": 96", "\"inner_dim\": \"96.96\"", kUnsupported, "inner_dim"},
      {"\"inner_dim\": 96", "\"inner_dim\": 96, \"input_hidden_dim\": 64", kUnsupported,
       "input_hidden_dim"},
      {"\"inner_dim\": 96", "\"inner_dim\": 96, \"tie_lstm_embs\": true", kUnsupported,
       "tie_lstm_embs"},
      {"\"emb_dim\": 64", "\"emb_dim\": 0", kInvalid, "emb_dim"},
      {"\"emb_dim\": 64", "\"emb_dim\": 1e9", kInvalid, "emb_dim"},
      {"\"emb_dim\": 64", "\"emb_dim\": 64, \"hidden_size\": 65", kInvalid, "hidden_size"},
      {"\"inner_dim\": 96", "\"inner_dim\": -1", kInvalid, "inner_dim"},
      {"\"vocab_size\": 100", "\"vocab_size\": 0", kInvalid, "vocab_size"},
      {"\"vocab_size\": 100", "\"vocab_size\": \"100\"", kInvalid, "vocab_size"},
      {"\"n_predict\": 3", "\"n_predict\": 0", kInvalid, "n_predict"},
      {"\"n_predict\": 3", "\"n_predict\": 17", kInvalid, "n_predict"},
      {"\"n_predict\": 3", "\"n_predict\": 4", kInvalid, "top_k_tokens_per_head"},
      {"[4, 3, 2]", "[4, 3]", kInvalid, "top_k_tokens_per_head"},
      {"[4, 3, 2]", "[4, 0, 2]", kInvalid, "top_k_tokens_per_head[1]"},
      {"[4, 3, 2]", "[101, 3, 2]", kInvalid, "top_k_tokens_per_head[0]"},
      {"[4, 3, 2]", "[100, 100, 100]", kUnsupported, "top_k_tokens_per_head"},
      {"[4, 3, 2]", "[4, 3, 2], \"top_k_tokesns_per_head\": [4, 3, 2]", kInvalid,
       "top_k_tokesns_per_head"},
      {"\"n_candidates\": 6", "\"n_candidates\": 0", kInvalid, "n_candidates"},
      {"\"scale_input\": true", "\"scale_input\": 1", kInvalid, "scale_input"},
      {"\"tie_weights\": true", "\"tie_weights\": \"yes\"", kInvalid, "tie_weights"},
      {"\"n_predict\": 3,\n  \"top_k_tokens_per_head\": [4, 3, 2]",
       "\"n_predict\": 1, \"top_k_tokens_per_head\": [4]", kInvalid, "tie_weights"},
      {"\"n_candidates\": 6", "\"n_candidates\": 6, \"base_model_archs\": \"x\"", kInvalid,
       "base_model_archs"},
  };
  kReader.expect_refused(violations);
}

TEST(MlpSpeculatorConfig, AnLstmHeadIsRefusedByItsName) {
  for (const char* name : {"ArcticLSTMSpeculatorPreTrainedModel", "LSTMSpeculatorPreTrainedModel",
                           "MLPVariantSpeculatorPreTrainedModel"}) {
    // As published: sizes are strings, too.
    const std::string text =
        testing::replaced(kReader.with("\"emb_dim\": 64", "\"emb_dim\": \"64.64\""),
                          "MLPSpeculatorPreTrainedModel", name);
    EXPECT_TRUE(mlp_speculator::recognises(JsonObject::parse(text, "c").value()));
    const auto config = kReader.parse(text);
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(config.error().message.find(name), std::string::npos) << config.error().message;
    EXPECT_NE(config.error().message.find("not an LSTM head"), std::string::npos);
  }
}

TEST(MlpSpeculatorConfig, PairsWithATargetOfItsWidthVocabularyAndListedClass) {
  const auto config = kReader.taken(kReader.with("\"n_candidates\": 6",
                                                 "\"n_candidates\": 6, \"base_model_archs\": "
                                                 "[\"LlamaForCausalLM\", \"GraniteForCausalLM\"]"));
  EXPECT_TRUE(mlp_speculator::check_pairing(kReader.taken(kValid), facts()).ok());
  const std::vector<testing::Mismatch<TargetFacts>> mismatches = {
      {[](TargetFacts& f) { f.info.hidden = 128; }, "emb_dim"},
      {[](TargetFacts& f) { f.info.vocab = 101; }, "vocab_size"},
      {[](TargetFacts& f) { f.family = "gpt_bigcode"; }, "base_model_archs"}};
  testing::expect_mismatches(facts(), mismatches, [&](const TargetFacts& f) {
    return mlp_speculator::check_pairing(config, f);
  });
}

TEST(MlpSpeculatorConfig, OptionsGoOverTheConfigOrAreWrongUsage) {
  mlp_speculator::Config config = kReader.taken(kValid);
  ASSERT_TRUE(apply_options({.top_k = {6, 5, 4}, .candidates = 8}, config).ok());
  EXPECT_EQ(config.top_k, (std::vector<int>{6, 5, 4}));
  EXPECT_EQ(config.candidates, 8);
  ASSERT_TRUE(apply_options({}, config).ok());
  EXPECT_EQ(config.candidates, 8);
  const std::vector<MlpSpeculatorOptions> wrong = {{.top_k = {6, 5}, .candidates = {}},
                                                   {.top_k = {6, 5, 0}, .candidates = {}},
                                                   {.top_k = {101, 5, 1}, .candidates = {}},
                                                   {.top_k = {100, 100, 1}, .candidates = {}},
                                                   {.top_k = {}, .candidates = 0}};
  for (const MlpSpeculatorOptions& options : wrong) {
    const Status status = apply_options(options, config);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  }
}

TEST(MlpSpeculatorConfig, ThePublishedHeadsParse) {
  SPINDRIFT_SHARED_OR_SKIP(folder, "reference/mlp_speculator");
  const int parsed = kReader.expect_published(
      folder, {},
      [](const std::string&, const JsonObject& json, const mlp_speculator::Config& config) {
        EXPECT_TRUE(mlp_speculator::recognises(json));
        EXPECT_EQ(std::ssize(config.top_k), config.stages);
      });
  EXPECT_GE(parsed, 15);
}

}  // namespace
}  // namespace spindrift
