#include "drafters/registry.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "drafters/dflash/config.h"
#include "drafters/dflash/describe.h"
#include "drafters/dflash/drafter.h"
#include "drafters/dflash/weights.h"
#include "drafters/mlp_speculator/config.h"
#include "drafters/mlp_speculator/describe.h"
#include "drafters/mlp_speculator/drafter.h"
#include "drafters/mlp_speculator/weights.h"

namespace spindrift {
namespace {

// What a kind of drafter provides. `check` takes a null target when there is none to pair with.
struct Kind {
  DrafterKind facts;
  bool (*recognises)(const JsonObject& config);
  Status (*check)(const JsonObject& config, const TargetFacts* facts);
  Status (*describe)(const JsonObject& config, DrafterDescription& out);  // out.store is set
  // Sets `loaded.drafter` from `loaded.weights`.
  Status (*load)(const JsonObject& config, const TargetModel& target,
                 const MlpSpeculatorOptions& options, LoadedDrafter& loaded);
};

// Compares a quantization_config, where there is one, with how the layers are stored.
Status compare_claims(const JsonObject& json, const HeaderCheck& check,
                      std::vector<std::string>& warnings) {
  if (!json.has("quantization_config")) return ok_status();
  SPINDRIFT_TRY(const auto claims, nn::QuantizationClaims::read(json, warnings));
  return claims.compare(check.linears(), "", warnings);
}

Status add_check(const JsonObject& json, HeaderCheck check, DrafterDescription& out) {
  const Status claims = compare_claims(json, check, out.warnings);
  out.problems = check.problems();
  if (!claims.ok()) out.problems.push_back(claims.error().message);
  return ok_status();
}

Status check_dflash(const JsonObject& json, const TargetFacts* facts) {
  SPINDRIFT_TRY(const dflash::Config config, dflash::parse_config(json));
  return facts == nullptr ? ok_status() : dflash::check_pairing(config, *facts);
}

Status describe_dflash(const JsonObject& json, DrafterDescription& out) {
  SPINDRIFT_TRY(const dflash::Config config, dflash::parse_config(json));
  out.summary = dflash::summarise(config);
  out.groups = dflash::module_groups(*out.store);
  return add_check(json, dflash::check_headers(*out.store, config), out);
}

Status load_dflash(const JsonObject& json, const TargetModel& target,
                   const MlpSpeculatorOptions& options, LoadedDrafter& loaded) {
  if (!options.top_k.empty() || options.candidates) {
    return Error{ErrorCode::kUsage, json.file() +
                                        ": draft top-k and draft candidates: expected a drafter of "
                                        "kind mlp_speculator, found dflash"};
  }
  SPINDRIFT_TRY(dflash::Config config, dflash::parse_config(json));
  SPINDRIFT_TRY(dflash::Weights weights, dflash::load_weights(*loaded.weights, config));
  SPINDRIFT_TRY_STATUS(
      compare_claims(json, dflash::check_headers(*loaded.weights, config), loaded.warnings));
  loaded.drafter =
      std::make_unique<dflash::DFlashDrafter>(std::move(config), std::move(weights), target);
  return ok_status();
}

Status check_mlp_speculator(const JsonObject& json, const TargetFacts* facts) {
  SPINDRIFT_TRY(const mlp_speculator::Config config, mlp_speculator::parse_config(json));
  return facts == nullptr ? ok_status() : mlp_speculator::check_pairing(config, *facts);
}

Status describe_mlp_speculator(const JsonObject& json, DrafterDescription& out) {
  SPINDRIFT_TRY(const mlp_speculator::Config config, mlp_speculator::parse_config(json));
  out.summary = mlp_speculator::summarise(config);
  out.groups = mlp_speculator::module_groups(*out.store, config);
  return add_check(json, mlp_speculator::check_headers(*out.store, config), out);
}

Status load_mlp_speculator(const JsonObject& json, const TargetModel& /*target*/,
                           const MlpSpeculatorOptions& options, LoadedDrafter& loaded) {
  SPINDRIFT_TRY(mlp_speculator::Config config, mlp_speculator::parse_config(json));
  SPINDRIFT_TRY_STATUS(mlp_speculator::apply_options(options, config));
  SPINDRIFT_TRY(mlp_speculator::Weights weights,
                mlp_speculator::load_weights(*loaded.weights, config));
  loaded.warnings = weights.warnings;
  SPINDRIFT_TRY_STATUS(compare_claims(json, mlp_speculator::check_headers(*loaded.weights, config),
                                      loaded.warnings));
  loaded.drafter =
      std::make_unique<mlp_speculator::MlpSpeculatorDrafter>(std::move(config), std::move(weights));
  return ok_status();
}

constexpr std::array kKinds = {
    Kind{{"dflash", "DFlashLagunaForCausalLM", "DFlash: a block of tokens from a Laguna's layers"},
         dflash::recognises,
         check_dflash,
         describe_dflash,
         load_dflash},
    Kind{{"mlp_speculator", "MLPSpeculatorPreTrainedModel, ArcticMLPSpeculatorPreTrainedModel",
          "MLPSpeculator heads: chains and trees from the last hidden row of any target"},
         mlp_speculator::recognises,
         check_mlp_speculator,
         describe_mlp_speculator,
         load_mlp_speculator},
};
constexpr auto kDrafterKinds = [] {
  std::array<DrafterKind, kKinds.size()> kinds;
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kKinds[i].facts;
  return kinds;
}();

const Kind* find_kind(const JsonObject& config) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const Kind& kind) { return kind.recognises(config); });
  return found == kKinds.end() ? nullptr : &*found;
}

std::string kind_list() {
  std::string list;
  for (const DrafterKind& kind : kDrafterKinds)
    list += (list.empty() ? "" : ", ") + std::string(kind.name);
  return list;
}

Result<const Kind*> require_kind(const JsonObject& config) {
  if (const Kind* kind = find_kind(config); kind != nullptr) return kind;
  return config.error(ErrorCode::kUnsupported, "architectures",
                      "a drafter's (" + kind_list() + ")");
}

}  // namespace

std::span<const DrafterKind> drafter_kinds() { return kDrafterKinds; }

std::string_view drafter_kind_of(const JsonObject& config) {
  const Kind* kind = find_kind(config);
  return kind == nullptr ? std::string_view{} : kind->facts.name;
}

Status check_drafter(const JsonObject& config) {
  SPINDRIFT_TRY(const Kind* const kind, require_kind(config));
  return kind->check(config, nullptr);
}

Status check_drafter_pairing(const JsonObject& config, const TargetFacts& target) {
  SPINDRIFT_TRY(const Kind* const kind, require_kind(config));
  return kind->check(config, &target);
}

Result<DrafterDescription> describe_drafter(const std::filesystem::path& folder) {
  SPINDRIFT_TRY(const JsonObject config, JsonObject::parse_file(folder / "config.json"));
  SPINDRIFT_TRY(const Kind* const kind, require_kind(config));
  SPINDRIFT_TRY_STATUS(kind->check(config, nullptr));
  DrafterDescription out;
  out.kind = kind->facts.name;
  SPINDRIFT_TRY(out.store, open_weights(folder));
  SPINDRIFT_TRY_STATUS(kind->describe(config, out));
  return out;
}

Result<LoadedDrafter> load_drafter(const std::filesystem::path& folder, std::string_view kind,
                                   const TargetModel& target, const TargetFacts& facts,
                                   const MlpSpeculatorOptions& options) {
  const bool known = std::any_of(kDrafterKinds.begin(), kDrafterKinds.end(),
                                 [&](const DrafterKind& k) { return k.name == kind; });
  if (kind != kAutoDraftKind && !known) {
    return Error{ErrorCode::kUsage, "draft kind: expected " + std::string(kAutoDraftKind) + " or " +
                                        kind_list() + ", found " + std::string(kind)};
  }
  SPINDRIFT_TRY(const JsonObject config, JsonObject::parse_file(folder / "config.json"));
  SPINDRIFT_TRY(const Kind* const found, require_kind(config));
  if (kind != kAutoDraftKind && kind != found->facts.name) {
    return config.error(ErrorCode::kInvalid, "architectures",
                        "a drafter of kind " + std::string(kind));
  }
  SPINDRIFT_TRY_STATUS(found->check(config, &facts));
  LoadedDrafter loaded;
  SPINDRIFT_TRY(loaded.weights, open_weights(folder));
  SPINDRIFT_TRY_STATUS(found->load(config, target, options, loaded));
  return loaded;
}

}  // namespace spindrift
