#include "models/registry.h"

#include <array>
#include <optional>

#include "io/json_config.h"
#include "models/laguna/load.h"

namespace spindrift {
namespace {

using Loader = Result<LoadedTarget> (*)(const std::filesystem::path& folder,
                                        const JsonObject& config, const TargetOptions& options);

constexpr std::array<TargetFamily, 1> kFamilies = {{
    {"laguna", "LagunaForCausalLM", "Laguna: gated attention, mixture of experts"},
}};
constexpr std::array<Loader, kFamilies.size()> kLoaders = {&laguna::load};

std::string known_families() {
  std::string list;
  for (const TargetFamily& family : kFamilies)
    list.append(list.empty() ? "`" : " or `").append(family.name).append("`");
  return list;
}

// The kind of drafter that a folder's config describes; empty for a target.
Result<std::string> drafter_kind(const JsonObject& json) {
  if (json.has("dflash_config")) return std::string("DFlash drafter");
  SPINDRIFT_TRY(const auto architectures, json.find_strings("architectures"));
  for (const std::string& name : architectures.value_or(std::vector<std::string>())) {
    if (name.find("DFlash") != std::string::npos) return std::string("DFlash drafter");
    if (name.find("MLPSpeculator") != std::string::npos) return std::string("MLPSpeculator head");
  }
  if (json.has("speculators_config") || json.has("speculators_model_type"))
    return std::string("drafter in the speculators format");
  return std::string();
}

}  // namespace

std::span<const TargetFamily> target_families() { return kFamilies; }

Result<LoadedTarget> load_target(const std::filesystem::path& folder,
                                 const TargetOptions& options) {
  SPINDRIFT_TRY(const JsonObject json, JsonObject::parse_file(folder / "config.json"));
  SPINDRIFT_TRY(const std::string drafter, drafter_kind(json));
  if (!drafter.empty()) {
    return Error{ErrorCode::kUnsupported,
                 json.file() + ": expected a target model, found a " + drafter,
                 "this is a " + drafter + "; give it as --draft-model"};
  }
  SPINDRIFT_TRY(const std::string type, json.get_string("model_type"));
  for (size_t i = 0; i < kFamilies.size(); ++i)
    if (kFamilies[i].name == type) return kLoaders[i](folder, json, options);
  return json.error(ErrorCode::kUnsupported, "model_type", known_families());
}

}  // namespace spindrift
