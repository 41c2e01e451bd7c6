#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "drafters/drafter.h"
#include "drafters/mlp_speculator/options.h"
#include "drafters/pairing.h"
#include "io/checkpoint_summary.h"
#include "io/json_config.h"
#include "io/weight_store.h"
#include "models/target_model.h"

namespace spindrift {

// Asks load_drafter to tell a drafter's kind from its config.
inline constexpr std::string_view kAutoDraftKind = "auto";

// A drafter and the weights it views.
struct LoadedDrafter {
  std::unique_ptr<WeightStore> weights;
  std::unique_ptr<Drafter> drafter;   // destroyed first
  std::vector<std::string> warnings;  // one line each
};

// A kind of drafter that can be loaded.
struct DrafterKind {
  std::string_view name;           // that Drafter::kind() gives
  std::string_view architectures;  // of config.json
  std::string_view description;
};
std::span<const DrafterKind> drafter_kinds();

// The kind whose config.json this is; empty when it is no drafter's. A config of a drafter format
// that is refused by name counts as that kind's: the check below says why.
std::string_view drafter_kind_of(const JsonObject& config);

// Checks a drafter's config.json on its own. Reads no weights.
Status check_drafter(const JsonObject& config);
// And that it fits a target of this shape. Reads no weights.
Status check_drafter_pairing(const JsonObject& config, const TargetFacts& target);

// A drafter as its config and the headers of its files tell it: no weight is read.
struct DrafterDescription {
  std::string kind;
  ConfigSummary summary;              // what the target must be included
  std::vector<ModuleGroup> groups;    // in the order of a forward
  std::vector<std::string> warnings;  // what the config says of the tensors, and they contradict
  std::vector<std::string> problems;  // tensors that are missing, unknown or in no known format
  std::unique_ptr<WeightStore> store;
};

// Describes the drafter in `folder`; fails where load_drafter would refuse the config or the
// headers.
Result<DrafterDescription> describe_drafter(const std::filesystem::path& folder);

// Loads the drafter in `folder` for `target`, which must outlive it and which `facts` describe.
// `kind` is kAutoDraftKind or a name of drafter_kinds(); kUsage when it is neither, kInvalid when
// the folder holds another kind. `options` are for heads of kind "mlp_speculator"; kUsage when
// another kind is given any.
Result<LoadedDrafter> load_drafter(const std::filesystem::path& folder, std::string_view kind,
                                   const TargetModel& target, const TargetFacts& facts,
                                   const MlpSpeculatorOptions& options = {});

}  // namespace spindrift
