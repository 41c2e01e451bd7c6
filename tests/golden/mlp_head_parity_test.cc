// Small random heads against fms-extras, in every form in which a head is stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>

#include "drafters/argmax.h"
#include "drafters/mlp_speculator/drafter.h"
#include "golden/mlp_golden.h"
#include "io/weight_store.h"
#include "kernels/registry.h"
#include "support/safetensors_builder.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

using testing::MlpHeadGolden;

constexpr double kLogitTolerance = 1e-5;  // of the row's largest magnitude

std::filesystem::path golden_folder() {
  return testing::repo_dir() / "tests" / "golden" / "mlp_speculator";
}

bool is_first_name(std::string_view name) {
  return name.find(".0.") != std::string_view::npos ||
         name.find("proj.1.") != std::string_view::npos;
}

// A safetensors file of the golden's tensors. With `first_only`, those that a file without shared
// tensors keeps.
std::string safetensors(const MlpHeadGolden& golden, bool first_only, bool prefix) {
  testing::SafetensorsBuilder builder;
  for (const MlpHeadGolden::Tensor& tensor : golden.params) {
    if (first_only && !is_first_name(tensor.name)) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.values.data()),
                                 tensor.values.size() * sizeof(float));
    const std::string bare = tensor.name.substr(tensor.name.find('.') + 1);
    builder.add(prefix ? tensor.name : bare, "F32", tensor.shape, bytes);
  }
  return builder.file();
}

class MlpHead : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    golden_ = MlpHeadGolden::read(golden_folder() / (std::string(GetParam()) + ".json"));
  }
  bool tied() const { return golden_.config.find("\"tie_weights\":true") != std::string::npos; }

  void check(const std::filesystem::path& folder);
  void check_logits(const mlp_speculator::Model& model);

  MlpHeadGolden golden_;
  Exec ex_{.pool = nullptr, .kernels = &kernels::table(kernels::default_isa().value())};
  Workspace ws_;
};

void MlpHead::check_logits(const mlp_speculator::Model& model) {
  for (size_t s = 0; s < golden_.token.size(); ++s) {
    const ConstRows hidden(golden_.state[s].data(), 1, model.config.hidden);
    ConstRows states = mlp_speculator::input_states(model, hidden, ws_, ex_);
    TokenId token = golden_.token[s];
    for (int stage = 0; stage < model.config.stages; ++stage) {
      const mlp_speculator::StageRow row{.state = 0, .token = token};
      states = run_stage(model, stage, states, std::span(&row, 1), ws_, ex_);
      const auto& expected = golden_.greedy_logits[s][static_cast<size_t>(stage)];
      std::vector<float> logits;
      for (const auto& block : model.weights.stages[static_cast<size_t>(stage)].head->blocks) {
        std::vector<float> part(static_cast<size_t>(block->out()));
        nn::apply(*block, states, Rows(part.data(), 1, block->out()), ex_);
        logits.insert(logits.end(), part.begin(), part.end());
      }
      ASSERT_EQ(logits.size(), expected.size());
      double largest = 0.0;
      for (const float x : expected) largest = std::max<double>(largest, std::fabs(x));
      for (size_t i = 0; i < logits.size(); ++i) {
        EXPECT_NEAR(logits[i], expected[i], kLogitTolerance * largest)
            << "sequence " << s << ", stage " << stage << ", token " << i;
      }
      token = argmax(logits);
      EXPECT_EQ(token, golden_.greedy[s][static_cast<size_t>(stage)]);
    }
  }
}

void MlpHead::check(const std::filesystem::path& folder) {
  const auto json = JsonObject::parse(golden_.config, "config.json");
  ASSERT_TRUE(json.ok()) << json.error().message;
  auto config = mlp_speculator::parse_config(json.value());
  ASSERT_TRUE(config.ok()) << config.error().message;
  const auto store = open_weights(folder);
  ASSERT_TRUE(store.ok()) << store.error().message;
  auto weights = mlp_speculator::load_weights(*store.value(), config.value());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_TRUE(weights.value().warnings.empty());
  const mlp_speculator::MlpSpeculatorDrafter drafter(config.value(), std::move(weights).value());
  EXPECT_NEAR(drafter.model().token_weight, golden_.alpha, 1e-6);
  check_logits(drafter.model());

  std::vector<float> rows;
  std::vector<mlp_speculator::SpreadRoot> roots;
  for (size_t s = 0; s < golden_.token.size(); ++s) {
    rows.insert(rows.end(), golden_.state[s].begin(), golden_.state[s].end());
    roots.push_back({golden_.token[s], drafter.model().config.top_k});
  }
  const ConstRows hidden(rows.data(), std::ssize(roots), config.value().hidden);
  const auto spreads =
      spread(drafter.model(), hidden, roots, mlp_speculator::PickValue::kLogProbability, ws_, ex_);
  for (size_t s = 0; s < spreads.size(); ++s) {
    EXPECT_EQ(greedy_path(spreads[s]), golden_.greedy[s]);
    const auto found = best_candidates(spreads[s], config.value().candidates);
    ASSERT_EQ(found.size(), golden_.candidates[s].size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].ids, golden_.candidates[s][i]) << "sequence " << s << ", place " << i;
    }
  }
}

TEST_P(MlpHead, EveryPyTorchFileGivesTheReferencesLogitsChainsAndCandidates) {
  int files = 0;
  for (const char* form : {"f32", "bf16", "bf16.every_stage_stored", "f32.legacy"}) {
    const auto file = golden_folder() / (std::string(GetParam()) + "." + form + ".bin");
    if (!std::filesystem::exists(file)) continue;
    SCOPED_TRACE(form);
    const testing::TempDir folder;
    std::filesystem::copy_file(file, folder / "pytorch_model.bin");
    check(folder.path());
    ++files;
  }
  EXPECT_GE(files, tied() ? 3 : 2);
}

TEST_P(MlpHead, SafetensorsWithAnyNamesGivesTheReferencesLogitsChainsAndCandidates) {
  for (const bool prefix : {true, false}) {
    for (const bool first_only : {true, false}) {
      if (first_only && !tied()) continue;
      SCOPED_TRACE(std::string(prefix ? "prefix" : "bare") + (first_only ? ", first" : ", all"));
      const testing::TempDir folder;
      folder.write("model.safetensors", safetensors(golden_, first_only, prefix));
      check(folder.path());
    }
  }
}

// The same values as they may be stored: under every name, as copies, under the first name alone.
TEST(MlpHeadForms, TiedWeightsProposeTheSameBitsHoweverTheyAreStored) {
  for (const std::string name : {"tied_scaled", "tied_unscaled_5"}) {
    SCOPED_TRACE(name);
    const MlpHeadGolden golden = MlpHeadGolden::read(golden_folder() / (name + ".json"));
    const testing::TempDir shared, copies, first;
    std::filesystem::copy_file(golden_folder() / (name + ".bf16.bin"),
                               shared / "pytorch_model.bin");
    std::filesystem::copy_file(golden_folder() / (name + ".bf16.every_stage_stored.bin"),
                               copies / "pytorch_model.bin");
    const auto source = open_weights(shared.path()).value();
    testing::SafetensorsBuilder builder;
    for (const std::string_view tensor : source->names()) {
      if (!is_first_name(tensor)) continue;
      const TensorView view = source->get_any(tensor).value();
      builder.add(tensor, "BF16", view.shape,
                  {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()});
    }
    first.write("model.safetensors", builder.file());

    std::vector<std::vector<mlp_speculator::Spread>> found;
    for (const testing::TempDir* folder : {&shared, &copies, &first}) {
      const auto config =
          mlp_speculator::parse_config(JsonObject::parse(golden.config, "config.json").value())
              .value();
      const auto store = open_weights(folder->path()).value();
      auto weights = mlp_speculator::load_weights(*store, config);
      ASSERT_TRUE(weights.ok()) << weights.error().message;
      EXPECT_TRUE(weights.value().warnings.empty());
      const mlp_speculator::Model model(config, std::move(weights).value());
      const Exec ex{.pool = nullptr, .kernels = &kernels::table(kernels::default_isa().value())};
      Workspace ws;
      found.emplace_back();
      for (size_t s = 0; s < golden.token.size(); ++s) {
        const mlp_speculator::SpreadRoot root{.token = golden.token[s], .top_k = config.top_k};
        const ConstRows hidden(golden.state[s].data(), 1, config.hidden);
        found.back().push_back(spread(model, hidden, std::span(&root, 1),
                                      mlp_speculator::PickValue::kLogProbability, ws, ex)[0]);
      }
    }
    for (size_t form = 1; form < found.size(); ++form) {
      for (size_t s = 0; s < golden.token.size(); ++s) {
        const auto &a = found[0][s].levels, &b = found[form][s].levels;
        ASSERT_EQ(a.size(), b.size());
        for (size_t level = 0; level < a.size(); ++level) {
          ASSERT_EQ(a[level].size(), b[level].size());
          for (size_t i = 0; i < a[level].size(); ++i) {
            EXPECT_EQ(a[level][i].token, b[level][i].token);
            EXPECT_EQ(std::bit_cast<uint32_t>(a[level][i].score),
                      std::bit_cast<uint32_t>(b[level][i].score));
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, MlpHead,
                         ::testing::Values("tied_scaled", "untied_wide_input", "tied_unscaled_5",
                                           "untied_3_inner0"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace spindrift
