#include "drafters/registry.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "drafters/dflash/config.h"
#include "drafters/dflash/drafter.h"
#include "drafters/dflash/weights.h"

namespace spindrift {
namespace {

// What a kind of drafter provides. `check` takes a null target when there is none to pair with.
struct Kind {
  std::string_view name;
  bool (*recognises)(const JsonObject& config);
  Status (*check)(const JsonObject& config, const TargetFacts* facts);
  Result<std::unique_ptr<Drafter>> (*load)(const JsonObject& config, WeightStore& weights,
                                           const TargetModel& target);
};

Status check_dflash(const JsonObject& json, const TargetFacts* facts) {
  SPINDRIFT_TRY(const dflash::Config config, dflash::parse_config(json));
  return facts == nullptr ? ok_status() : dflash::check_pairing(config, *facts);
}

Result<std::unique_ptr<Drafter>> load_dflash(const JsonObject& json, WeightStore& store,
                                             const TargetModel& target) {
  SPINDRIFT_TRY(dflash::Config config, dflash::parse_config(json));
  SPINDRIFT_TRY(dflash::Weights weights, dflash::load_weights(store, config));
  std::unique_ptr<Drafter> drafter =
      std::make_unique<dflash::DFlashDrafter>(std::move(config), std::move(weights), target);
  return drafter;
}

constexpr std::array kKinds = {
    Kind{"dflash", dflash::recognises, check_dflash, load_dflash},
};

const Kind* find_kind(const JsonObject& config) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const Kind& kind) { return kind.recognises(config); });
  return found == kKinds.end() ? nullptr : &*found;
}

std::string kind_list() {
  std::string list;
  for (const Kind& kind : kKinds) list += (list.empty() ? "" : ", ") + std::string(kind.name);
  return list;
}

Result<const Kind*> require_kind(const JsonObject& config) {
  if (const Kind* kind = find_kind(config); kind != nullptr) return kind;
  return config.error(ErrorCode::kUnsupported, "architectures",
                      "a drafter's (" + kind_list() + ")");
}

}  // namespace

std::vector<std::string_view> drafter_kinds() {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  return names;
}

std::string_view drafter_kind_of(const JsonObject& config) {
  const Kind* kind = find_kind(config);
  return kind == nullptr ? std::string_view{} : kind->name;
}

Status check_drafter(const JsonObject& config) {
  SPINDRIFT_TRY(const Kind* const kind, require_kind(config));
  return kind->check(config, nullptr);
}

Status check_drafter_pairing(const JsonObject& config, const TargetFacts& target) {
  SPINDRIFT_TRY(const Kind* const kind, require_kind(config));
  return kind->check(config, &target);
}

Result<LoadedDrafter> load_drafter(const std::filesystem::path& folder, std::string_view kind,
                                   const TargetModel& target, const TargetFacts& facts) {
  const auto names = drafter_kinds();
  if (kind != kAutoDraftKind && std::find(names.begin(), names.end(), kind) == names.end()) {
    return Error{ErrorCode::kUsage, "draft kind: expected " + std::string(kAutoDraftKind) + " or " +
                                        kind_list() + ", found " + std::string(kind)};
  }
  SPINDRIFT_TRY(const JsonObject config, JsonObject::parse_file(folder / "config.json"));
  SPINDRIFT_TRY(const Kind* const found, require_kind(config));
  if (kind != kAutoDraftKind && kind != found->name) {
    return config.error(ErrorCode::kInvalid, "architectures",
                        "a drafter of kind " + std::string(kind));
  }
  SPINDRIFT_TRY_STATUS(found->check(config, &facts));
  LoadedDrafter loaded;
  SPINDRIFT_TRY(loaded.weights, open_weights(folder));
  SPINDRIFT_TRY(loaded.drafter, found->load(config, *loaded.weights, target));
  return loaded;
}

}  // namespace spindrift
