#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"
#include "io/weight_store.h"
#include "models/target_model.h"

namespace spindrift {

struct TargetOptions {
  DType kv_dtype = DType::kF32;  // kF32 or kBf16
  bool rope_derived = false;     // YaRN's derived multiplier in place of the config's
};

// What a config says in a few words, in order: ("layers", "6"), ...
using ConfigSummary = std::vector<std::pair<std::string, std::string>>;

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

}  // namespace spindrift
