#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/exec.h"
#include "core/result.h"
#include "core/rows.h"
#include "io/weight_store.h"

namespace spindrift::nn {

// RMS norm with a plain weight (no +1). Weights are kept as float32: they are small.
class RmsNorm {
 public:
  RmsNorm() = default;
  RmsNorm(std::vector<float> weight, float eps);
  int64_t size() const;
  // y[r] = norm(x[r]); x and y may be the same rows.
  void apply(ConstRows x, Rows y, const Exec& ex) const;
  // Norms each group of size() features of every row in place: the per-head norm of q and k.
  // x.cols() % size() == 0.
  void apply_per_head(Rows x, const Exec& ex) const;

 private:
  std::vector<float> weight_;
  float eps_ = 0.0F;
};

// Layer norm with weight and bias.
class LayerNorm {
 public:
  LayerNorm() = default;
  LayerNorm(std::vector<float> weight, std::vector<float> bias, float eps);
  int64_t size() const;
  // y[r] = norm(x[r]); x and y may be the same rows.
  void apply(ConstRows x, Rows y, const Exec& ex) const;

 private:
  std::vector<float> weight_, bias_;
  float eps_ = 0.0F;
};

// Reads `scope`.weight as [size], any float type.
Result<RmsNorm> load_rms_norm(const WeightScope& scope, int64_t size, float eps);
// Reads `scope`.weight and `scope`.bias as [size], any float type.
Result<LayerNorm> load_layer_norm(const WeightScope& scope, int64_t size, float eps);
// A one-dimensional tensor of any float type (bf16, f16, f32) as float32.
Result<std::vector<float>> load_vector(const WeightScope& scope, std::string_view leaf,
                                       int64_t size);

}  // namespace spindrift::nn
