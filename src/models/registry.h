#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "io/checkpoint_summary.h"
#include "io/weight_store.h"
#include "models/target_model.h"

namespace spindrift {

struct TargetOptions {
  DType kv_dtype = DType::kF32;  // kF32 or kBf16
  bool rope_derived = false;     // YaRN's derived multiplier in place of the config's
};

// A target ready to run. The model reads weights in place from the store, so it goes first.
struct LoadedTarget {
  std::string family;
  ConfigSummary summary;
  std::vector<std::string> warnings;
  bool rotated_residual = false;  // hidden states are in a rotated basis: drafters must match it
  std::unique_ptr<WeightStore> store;
  std::unique_ptr<TargetModel> model;
};

// A family of targets that can be loaded.
struct TargetFamily {
  std::string_view name;          // config.json's model_type
  std::string_view architecture;  // config.json's architectures[0]
  std::string_view description;
};
std::span<const TargetFamily> target_families();

// Loads the target in a folder of Hugging Face layout. A folder that holds a drafter, or a family
// that is not known, is refused by name.
Result<LoadedTarget> load_target(const std::filesystem::path& folder, const TargetOptions& options);

// A target as its config and the headers of its files tell it: no weight is read.
struct TargetDescription {
  std::string family;
  ModelInfo info;
  ConfigSummary summary;
  std::vector<ModuleGroup> groups;  // in the order of a forward
  bool rotated_residual = false;
  std::vector<std::string> problems;  // tensors that are missing, unknown or in no known format
  std::vector<std::string> warnings;
  std::unique_ptr<WeightStore> store;
};

// Describes the target in `folder`; fails where load_target would refuse the config or the headers.
Result<TargetDescription> describe_target(const std::filesystem::path& folder);

}  // namespace spindrift
