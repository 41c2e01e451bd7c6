#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/json_config.h"
#include "io/weight_store.h"
#include "nn/name_pattern.h"

namespace spindrift::nn {

// One linear layer of a model, or the tensors that stack several.
struct LinearLayer {
  WeightScope scope;
  int64_t in = 0;  // columns
};

// What quantization_config says of which layers are stored how. Only compared: the tensors decide.
class QuantizationClaims {
 public:
  // Of a config without the key: no claims, every layer plain. A pattern that NamePattern does not
  // know leaves the layers uncompared, with a warning.
  static Result<QuantizationClaims> read(const JsonObject& config,
                                         std::vector<std::string>& warnings);

  // Compares with what is stored: appends a warning for each kind of contradiction, naming the
  // claim, the first such layer and how it is stored. kInvalid for a group whose targets match none
  // of the layers. `root` is what the names of tensors have in front of those that a config uses.
  Status compare(std::span<const LinearLayer> layers, std::string_view root,
                 std::vector<std::string>& warnings) const;

 private:
  struct Group {
    std::string key, format;      // "group_0"; such as "nvfp4-pack-quantized"
    std::optional<int64_t> bits;  // of weights
    std::vector<NamePattern> targets;
  };

  void compare_formats(std::span<const LinearLayer> layers,
                       std::vector<std::string>& warnings) const;

  std::string file_;
  bool by_layer_ = false;             // groups with targets are there and all of them understood
  std::vector<std::string> formats_;  // every one that is declared
  std::vector<Group> groups_;
  std::vector<NamePattern> ignored_;
};

}  // namespace spindrift::nn
