#include "synth/shapes.h"

#include <array>
#include <string>

#include "synth/drafter_shapes.h"
#include "synth/granite_shapes.h"
#include "synth/laguna_release.h"

namespace spindrift::synth {
namespace {

template <Series series, Quantization quantization, bool late_experts_plain = false>
Result<CheckpointPlan> laguna(int64_t layers) {
  return plan_laguna({series, quantization, late_experts_plain}, layers);
}

Result<CheckpointPlan> dflash(const DflashModel& model, int64_t target_layers) {
  if (target_layers >= model.layers) return plan_dflash(model, target_layers);
  return Error{ErrorCode::kUsage, "--layers: expected at least " + std::to_string(model.layers) +
                                      ", a target layer for each of the drafter's taps, found " +
                                      std::to_string(target_layers)};
}
Result<CheckpointPlan> xs_dflash(int64_t target_layers) { return dflash(kXsDflash, target_layers); }
Result<CheckpointPlan> s_dflash(int64_t target_layers) { return dflash(kSDflash, target_layers); }

Result<CheckpointPlan> granite_8b(int64_t layers) { return plan_granite_8b(layers); }
Result<CheckpointPlan> accelerator(int64_t) { return plan_granite_8b_accelerator(); }

using S = Series;
using Q = Quantization;
constexpr std::array kShapes = {
    Shape{"xs-2.1-nvfp4", "Laguna-XS-2.1-NVFP4", 40, laguna<S::kXs21, Q::kNvfp4>},
    Shape{"xs-2.1-bf16", "Laguna-XS-2.1", 40, laguna<S::kXs21, Q::kNone>},
    Shape{"xs-2.1-int4", "Laguna-XS-2.1-INT4", 40, laguna<S::kXs21, Q::kInt4>},
    Shape{"xs-2.1-mlx-4bit", "Laguna-XS-2.1 as mlx-lm quantises it, affine", 40,
          laguna<S::kXs21, Q::kMlx4Bit>},
    Shape{"xs-2.1-mlx-nvfp4", "Laguna-XS-2.1-NVFP4-mlx", 40, laguna<S::kXs21, Q::kMlxNvfp4>},
    Shape{"xs.2-nvfp4", "Laguna-XS.2-NVFP4", 40, laguna<S::kXs2, Q::kNvfp4>},
    Shape{"xs.2-fp8", "Laguna-XS.2-FP8", 40, laguna<S::kXs2, Q::kFp8>},
    Shape{"s-2.1-nvfp4", "Laguna-S-2.1-NVFP4, revision f8fdfcd", 48,
          laguna<S::kS21, Q::kNvfp4, true>},
    Shape{"s-2.1-nvfp4-0761412", "Laguna-S-2.1-NVFP4, revision 0761412", 48,
          laguna<S::kS21, Q::kNvfp4>},
    Shape{"m.1-nvfp4", "Laguna-M.1-NVFP4", 70, laguna<S::kM1, Q::kNvfp4>},
    Shape{"xs-2.1-dflash", "Laguna-XS-2.1-DFlash", 40, xs_dflash},
    Shape{"s-2.1-dflash", "Laguna-S-2.1-DFlash", 48, s_dflash},
    Shape{"granite-3.0-8b", "granite-3.0-8b-instruct", 40, granite_8b},
    Shape{"granite-3.0-8b-accelerator", "granite-3.0-8b-instruct-accelerator", 40, accelerator},
};

}  // namespace

std::span<const Shape> shapes() { return kShapes; }

Result<CheckpointPlan> plan_checkpoint(std::string_view name, std::optional<int64_t> layers) {
  std::string known;
  for (const Shape& shape : kShapes) {
    if (shape.name != name) {
      known.append(known.empty() ? "" : ", ").append(shape.name);
      continue;
    }
    const int64_t count = layers.value_or(shape.layers);
    if (count >= 1 && count <= shape.layers) return shape.plan(count);
    return Error{ErrorCode::kUsage, "--layers: expected 1 to " + std::to_string(shape.layers) +
                                        ", found " + std::to_string(count)};
  }
  return Error{ErrorCode::kUsage,
               "--shape: expected one of " + known + ", found `" + std::string(name) + "`"};
}

}  // namespace spindrift::synth
