#include "drafters/mlp_speculator/weights.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

namespace spindrift::mlp_speculator {
namespace {

constexpr float kNormEps = 1e-6F;

using SharedLinear = std::shared_ptr<const nn::Linear>;

class Loader {
 public:
  Loader(WeightStore& store, const Config& config)
      : config_(config), scope_{&store, store.names("speculator.").empty() ? "" : "speculator"} {}

  Result<Weights> run() {
    for (int i = 0; i < config_.stages; ++i) {
      SPINDRIFT_TRY(StageWeights stage, load_stage(i));
      weights_.stages.push_back(std::move(stage));
    }
    SPINDRIFT_TRY_STATUS(read_copies());
    SPINDRIFT_TRY_STATUS(scope_.store->check_all_read());
    return std::move(weights_);
  }

 private:
  Result<StageWeights> load_stage(int i) {
    StageWeights stage;
    if (config_.tied && i > 0) {
      const StageWeights& first = weights_.stages.front();
      stage = first;
      if (i > 1) {
        stage.proj = weights_.stages[1].proj;
      } else {
        SPINDRIFT_TRY(stage.proj, matrix("proj", i, config_.inner, config_.inner));
      }
      return stage;
    }
    SPINDRIFT_TRY(stage.emb, matrix("emb", i, config_.vocab, config_.inner));
    SPINDRIFT_TRY(stage.proj,
                  matrix("proj", i, config_.inner, i == 0 ? config_.hidden : config_.inner));
    SPINDRIFT_TRY(const SharedLinear head, matrix("head", i, config_.vocab, config_.inner));
    auto blocks = std::make_shared<Head>();
    for (int64_t at = 0; at < config_.vocab; at += kHeadBlock) {
      blocks->blocks.push_back(head->slice(at, std::min(kHeadBlock, config_.vocab - at)));
    }
    stage.head = std::move(blocks);
    const WeightScope norm = scope_ / "ln" / i;
    SPINDRIFT_TRY(stage.norm, nn::load_rms_norm(norm, config_.inner, kNormEps));
    SPINDRIFT_TRY(stage.norm_bias, nn::load_vector(norm, "bias", config_.inner));
    return stage;
  }

  Result<SharedLinear> matrix(std::string_view kind, int stage, int64_t out, int64_t in) {
    SPINDRIFT_TRY(std::unique_ptr<nn::Linear> linear,
                  nn::load_linear(scope_ / kind / stage, out, in));
    weights_.bytes += linear->bytes();
    return SharedLinear(std::move(linear));
  }

  // The tensors that tied stages need not store.
  Status read_copies() {
    if (!config_.tied) return ok_status();
    SPINDRIFT_TRY_STATUS(read_copies("emb", "weight", 0));
    SPINDRIFT_TRY_STATUS(read_copies("head", "weight", 0));
    SPINDRIFT_TRY_STATUS(read_copies("ln", "weight", 0));
    SPINDRIFT_TRY_STATUS(read_copies("ln", "bias", 0));
    SPINDRIFT_TRY_STATUS(read_copies("proj", "weight", 1));
    if (different_.empty()) return ok_status();
    const size_t others = different_.size() - 1;
    weights_.warnings.push_back(
        scope_.store->where() + ": tensor `" + different_.front() + "`" +
        (others > 0 ? " and " + std::to_string(others) + " more" : std::string()) +
        ": expected the bytes of the stage it is tied to (`tie_weights`), found others; the first "
        "stage's are used");
    return ok_status();
  }

  // KIND.(first + 1).LEAF and up: all of them or none.
  Status read_copies(std::string_view kind, std::string_view leaf, int first) {
    SPINDRIFT_TRY(const TensorView own, (scope_ / kind / first).get_any(leaf));
    std::string present, absent;
    for (int i = first + 1; i < config_.stages; ++i) {
      const WeightScope copy = scope_ / kind / i;
      (copy.has(leaf) ? present : absent) = copy.name(leaf);
      if (!copy.has(leaf)) continue;
      SPINDRIFT_TRY(const TensorView other, copy.get(leaf, own.dtype, own.shape));
      if (other.bytes.data() != own.bytes.data() &&
          std::memcmp(other.bytes.data(), own.bytes.data(), own.bytes.size()) != 0) {
        different_.push_back(copy.name(leaf));
      }
    }
    if (present.empty() || absent.empty()) return ok_status();
    return Error{ErrorCode::kInvalid, scope_.store->where() + ": tensor `" + absent +
                                          "`: expected all stages of a tied tensor or the first "
                                          "alone, found `" +
                                          present + "` without it"};
  }

  const Config& config_;
  WeightScope scope_;
  Weights weights_;
  std::vector<std::string> different_;  // names of copies that are none
};

}  // namespace

Result<Weights> load_weights(WeightStore& store, const Config& config) {
  return Loader(store, config).run();
}

}  // namespace spindrift::mlp_speculator
