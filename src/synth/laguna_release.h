#pragma once

#include <cstdint>
#include <string>

#include "synth/checkpoint_plan.h"

namespace spindrift::synth {

// How one linear layer is stored.
enum class Format : uint8_t { kBf16, kNvfp4, kFp8, kInt4, kInt8, kAffine4, kAffine8, kMlxNvfp4 };

// The sizes of one of Poolside's models.
struct LagunaModel {
  int64_t layers, hidden, dense_inner, full_heads, sliding_heads, experts_per_token, expert_inner;
  int64_t dense_layers;  // the first ones
  bool all_full;         // otherwise layer i has full attention where i % 4 == 0
  bool gate_per_element;
  static constexpr int64_t kVocab = 100352, kKvHeads = 8, kHeadDim = 128, kExperts = 256;

  int64_t heads(int64_t layer) const { return full(layer) ? full_heads : sliding_heads; }
  bool full(int64_t layer) const { return all_full || layer % 4 == 0; }
};

enum class Series : uint8_t { kXs2, kXs21, kS21, kM1 };
enum class Quantization : uint8_t { kNone, kNvfp4, kFp8, kInt4, kMlx4Bit, kMlxNvfp4 };

// One published release: a model in one layout.
struct LagunaRelease {
  Series series;
  Quantization quantization;
  bool late_experts_plain = false;  // S 2.1 NVFP4 from revision f8fdfcd on: layers 40 to 47

  const LagunaModel& model() const;
  bool mlx() const {
    return quantization == Quantization::kMlx4Bit || quantization == Quantization::kMlxNvfp4;
  }
  // By what the tensors of a release are, layer by layer.
  Format experts(int64_t layer) const;
  Format shared_expert() const;
  Format dense_mlp() const;
  Format attention() const;  // projections and gate, also embedding and head
  Format router() const;
};

// The text of config.json for the first `layers` layers.
std::string laguna_config(const LagunaRelease& release, int64_t layers);
std::string laguna_generation_config(Series series);

CheckpointPlan plan_laguna(const LagunaRelease& release, int64_t layers);

}  // namespace spindrift::synth
