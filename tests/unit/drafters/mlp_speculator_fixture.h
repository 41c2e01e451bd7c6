#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "drafters/mlp_speculator/config.h"
#include "support/safetensors_builder.h"
#include "support/temp_dir.h"

namespace spindrift::testing {

// Sizes that never coincide, and a vocabulary of more than one block of a head.
inline mlp_speculator::Config mlp_config(bool tied) {
  mlp_speculator::Config config;
  config.file = "config.json";
  config.hidden = 20;
  config.inner = 24;
  config.vocab = 600;
  config.stages = 3;
  config.top_k = {4, 3, 2};
  config.candidates = 5;
  config.scale_input = true;
  config.tied = tied;
  return config;
}

// A head's tensors by name, float32, random; tests change them before they write the file.
class MlpTensors {
 public:
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };

  // With `copies`, tied stages are stored, too; else the first name of each only.
  MlpTensors(const mlp_speculator::Config& c, bool copies, uint32_t seed = 1) : random_(seed) {
    for (int i = 0; i < c.stages; ++i) {
      const std::string n = std::to_string(i);
      add("emb." + n + ".weight", {c.vocab, c.inner}, c.tied && i > 0, "emb.0.weight", copies);
      add("head." + n + ".weight", {c.vocab, c.inner}, c.tied && i > 0, "head.0.weight", copies);
      add("ln." + n + ".weight", {c.inner}, c.tied && i > 0, "ln.0.weight", copies);
      add("ln." + n + ".bias", {c.inner}, c.tied && i > 0, "ln.0.bias", copies);
      add("proj." + n + ".weight", {c.inner, i == 0 ? c.hidden : c.inner}, c.tied && i > 1,
          "proj.1.weight", copies);
    }
  }

  std::map<std::string, Tensor> tensors;

  void write(const TempDir& folder) const {
    SafetensorsBuilder builder;
    for (const auto& [name, tensor] : tensors) {
      builder.add("speculator." + name, "F32", tensor.shape,
                  {reinterpret_cast<const char*>(tensor.values.data()),
                   tensor.values.size() * sizeof(float)});
    }
    folder.write("model.safetensors", builder.file());
  }

 private:
  void add(const std::string& name, std::vector<int64_t> shape, bool tied, const char* first,
           bool copies) {
    if (tied) {
      if (copies) tensors[name] = tensors.at(first);
      return;
    }
    Tensor tensor{.shape = std::move(shape), .values = {}};
    int64_t count = 1;
    for (const int64_t n : tensor.shape) count *= n;
    std::normal_distribution<float> normal(0.0F, 0.4F);
    for (int64_t i = 0; i < count; ++i) tensor.values.push_back(normal(random_));
    tensors[name] = std::move(tensor);
  }

  std::mt19937 random_;
};

}  // namespace spindrift::testing
