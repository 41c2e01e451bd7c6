#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>

#include "core/thread_pool.h"
#include "golden/target_golden.h"
#include "kernels/registry.h"
#include "models/registry.h"
#include "support/shared_dir.h"

namespace spindrift {
namespace {

using testing::TargetGolden;

size_t best_of(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - top);
  return top + std::log(sum);
}

class TargetParity : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    SPINDRIFT_MODEL_OR_SKIP(folder, GetParam());
    Result<LoadedTarget> loaded = load_target(folder, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    target_ = std::move(loaded).value();
    expect_no_warnings();
    golden_ = TargetGolden::read(folder / "golden");
    decided_margin_ = 2.0 * golden_.tolerance;
  }

  void expect_no_warnings() {
    for (const std::string& warning : target_.warnings) ADD_FAILURE() << warning;
  }

  const TargetModel& model() const { return *target_.model; }

  LoadedTarget target_;
  TargetGolden golden_;
  double decided_margin_ = 0.0;  // above it such a difference cannot change the best token
  ThreadPool pool_{2};
  Exec ex_{.pool = &pool_, .kernels = &kernels::table(kernels::default_isa().value())};
  Workspace ws_;
};

TEST_P(TargetParity, TeacherForcedRowsAgreeWithTheReference) {
  const std::vector<TokenId> ids = testing::tokens_of(golden_.ids);
  const std::unique_ptr<Sequence> seq = model().open();
  const SeqRows rows{.seq = seq.get(), .tokens = ids};
  const ConstRows logits = model().forward(std::span(&rows, 1), {}, ws_, ex_).logits;
  ASSERT_EQ(logits.rows(), static_cast<int64_t>(ids.size()));

  double worst = 0.0;
  for (size_t i = 0; i < golden_.stored_rows.size(); ++i) {
    const std::span<const float> row = logits.row(golden_.stored_rows[i]);
    const float* expected = golden_.logits.row(static_cast<int64_t>(i));
    for (size_t c = 0; c < row.size(); ++c)
      worst = std::max(worst, std::fabs(static_cast<double>(row[c]) - expected[c]));
  }
  EXPECT_LT(worst, golden_.tolerance);
  RecordProperty("worst_difference", std::to_string(worst));

  for (size_t r = 0; r < ids.size(); ++r) {
    const std::span<const float> row = logits.row(static_cast<int64_t>(r));
    EXPECT_NEAR(log_sum_exp(row), golden_.logsumexp[r], golden_.tolerance) << "row " << r;
    if (golden_.margin[r] > decided_margin_) {
      EXPECT_EQ(best_of(row), static_cast<size_t>(golden_.argmax[r])) << "row " << r;
    }
  }
}

TEST_P(TargetParity, GreedyContinuationsAgreeWithTheReference) {
  const Exec alone{.kernels = ex_.kernels};  // hundreds of one-row steps: nothing to share out
  int compared = 0;
  for (const TargetGolden::Greedy& run : golden_.greedy) {
    if (run.smallest_margin <= decided_margin_) continue;
    ++compared;
    const std::unique_ptr<Sequence> seq = model().open();
    std::vector<TokenId> next = testing::tokens_of(run.prompt);
    std::vector<int64_t> produced;
    while (produced.size() < run.ids.size()) {
      const SeqRows rows{.seq = seq.get(), .tokens = next, .logits = LogitRows::kLast};
      const ConstRows logits = model().forward(std::span(&rows, 1), {}, ws_, alone).logits;
      std::vector<RowIndex> path(next.size());
      std::iota(path.begin(), path.end(), 0);
      seq->commit(path);
      next = {static_cast<TokenId>(best_of(logits.row(0)))};
      produced.push_back(next.front());
    }
    EXPECT_EQ(produced, run.ids);
  }
  EXPECT_GT(compared, 0);
}

TEST_P(TargetParity, EveryInstructionSetAndThreadCountComputesTheSameBits) {
  std::vector<TokenId> ids = testing::tokens_of(golden_.ids);
  ids.resize(24);
  std::vector<float> expected;
  for (const kernels::Isa isa : kernels::usable_isas()) {
    for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &pool_}) {
      const Exec ex{.pool = pool, .kernels = &kernels::table(isa)};
      const std::unique_ptr<Sequence> seq = model().open();
      const SeqRows rows{.seq = seq.get(), .tokens = ids};
      const ConstRows logits = model().forward(std::span(&rows, 1), {}, ws_, ex).logits;
      const std::span<const float> all(logits.data(),
                                       static_cast<size_t>(logits.rows() * logits.cols()));
      if (expected.empty()) expected.assign(all.begin(), all.end());
      EXPECT_EQ(std::memcmp(expected.data(), all.data(), all.size_bytes()), 0) << ex.kernels->name;
    }
  }
}

std::string folder_name(const ::testing::TestParamInfo<const char*>& param) {
  std::string name = param.param;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Folders, TargetParity,
                         ::testing::Values("laguna-tiny-nvfp4", "laguna-tiny-bf16",
                                           "laguna-tiny-int4", "laguna-tiny-fp8",
                                           "laguna-tiny-mlx-4bit", "laguna-tiny-mlx-nvfp4",
                                           "shapes/xs2-nvfp4", "shapes/s21-nvfp4-mixed",
                                           "shapes/m1-bf16", "shapes/softcap-bf16", "granite-tiny",
                                           "gptbigcode-random", "llama-biased-random"),
                         folder_name);
INSTANTIATE_TEST_SUITE_P(Variants, TargetParity,
                         ::testing::Values("variants/f32", "variants/f16", "variants/sinks",
                                           "variants/sqrtsoftplus", "variants/softmax-scores",
                                           "variants/flat-rope", "variants/fused-experts",
                                           "variants/language-model-prefix",
                                           "variants/mixed-precision", "variants/mlx-joined",
                                           "variants/mlx-affine-g32", "variants/mlx-affine-g128"),
                         folder_name);
INSTANTIATE_TEST_SUITE_P(Bases, TargetParity,
                         ::testing::Values("bases/bigcode-gelu", "bases/llama-head80",
                                           "bases/llama2-linear", "bases/llama3-rope"),
                         folder_name);

}  // namespace
}  // namespace spindrift
