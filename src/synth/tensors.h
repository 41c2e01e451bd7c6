#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "synth/checkpoint_plan.h"
#include "synth/laguna_release.h"

// Planned tensors by what they are for. Magnitudes are such that rows keep their size from layer to
// layer.
namespace spindrift::synth {

class TensorList {
 public:
  // Tensors added from here on never share a shard with those before.
  void new_shard_group() { ++group_; }

  void add(std::string name, DType dtype, std::vector<int64_t> shape, Content content);
  // A gain of a norm, `name`.weight.
  void norm(const std::string& name, int64_t size);
  // `name`.weight, [rows, columns] around 0.
  void matrix(const std::string& name, int64_t rows, int64_t columns, double spread);
  struct LinearOptions {
    int64_t stack = 0;           // layers in one tensor; 0 = not a stack
    bool scalar_scales = false;  // nvfp4's scales of whole tensors have shape [] and not [1]
    double gain = 1.0;           // output size for inputs of size 1
  };
  // All tensors of a linear layer in a format.
  void linear(const std::string& name, int64_t out, int64_t in, Format format,
              const LinearOptions& options);
  void linear(const std::string& name, int64_t out, int64_t in, Format format) {
    linear(name, out, in, format, LinearOptions());
  }

  std::vector<PlannedTensor> take() && { return std::move(tensors_); }

 private:
  void affine(const std::string& name, std::vector<int64_t> rows, int64_t in, int64_t bits,
              double spread);

  int group_ = 0;
  std::vector<PlannedTensor> tensors_;
};

}  // namespace spindrift::synth
