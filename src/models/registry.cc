#include "models/registry.h"

#include <array>
#include <optional>

#include "io/json_config.h"
#include "models/gpt_bigcode/load.h"
#include "models/laguna/load.h"
#include "models/llama/load.h"

namespace spindrift {
namespace {

using std::filesystem::path;

// What a family does with its folder and config.
struct Entry {
  TargetFamily family;
  Result<LoadedTarget> (*load)(const path& folder, const JsonObject& config,
                               const TargetOptions& options);
  Result<TargetDescription> (*describe)(const path& folder, const JsonObject& config);
};

constexpr std::array kEntries = {
    Entry{{"laguna", "LagunaForCausalLM", "Laguna: gated attention, mixture of experts"},
          &laguna::load,
          &laguna::describe},
    Entry{{"granite", "GraniteForCausalLM", "Granite 3: Llama with four multipliers"},
          &llama::load,
          &llama::describe},
    Entry{{"llama", "LlamaForCausalLM", "Llama 2 and 3, CodeLlama, Granite code 3B and 8B"},
          &llama::load,
          &llama::describe},
    Entry{{"gpt_bigcode", "GPTBigCodeForCausalLM", "GPTBigCode: Granite code 20B and 34B"},
          &gpt_bigcode::load,
          &gpt_bigcode::describe},
};
constexpr auto kFamilies = [] {
  std::array<TargetFamily, kEntries.size()> families;
  for (size_t i = 0; i < families.size(); ++i) families[i] = kEntries[i].family;
  return families;
}();

std::string known_families() {
  std::string list;
  for (const TargetFamily& family : kFamilies)
    list.append(list.empty() ? "`" : " or `").append(family.name).append("`");
  return list;
}

// The kind of drafter that a folder's config describes, with its article; empty for a target.
Result<std::string> drafter_kind(const JsonObject& json) {
  if (json.has("dflash_config")) return std::string("a DFlash drafter");
  std::vector<std::string> architectures;
  if (json.is_string("architectures")) {  // as Arctic's heads have it
    SPINDRIFT_TRY(architectures.emplace_back(), json.get_string("architectures"));
  } else {
    SPINDRIFT_TRY(auto names, json.find_strings("architectures"));
    if (names) architectures = *std::move(names);
  }
  for (const std::string& name : architectures) {
    if (name.find("DFlash") != std::string::npos) return std::string("a DFlash drafter");
    if (name.find("MLPSpeculator") != std::string::npos)
      return std::string("an MLPSpeculator head");
    if (name.find("Speculator") != std::string::npos) return std::string("a speculator head");
  }
  if (json.has("speculators_config") || json.has("speculators_model_type"))
    return std::string("a drafter in the speculators format");
  return std::string();
}

struct Target {
  const Entry* entry;
  JsonObject config;
};

Result<Target> identify(const path& folder) {
  SPINDRIFT_TRY(const JsonObject json, JsonObject::parse_file(folder / "config.json"));
  SPINDRIFT_TRY(const std::string drafter, drafter_kind(json));
  if (!drafter.empty()) {
    return Error{ErrorCode::kUnsupported,
                 json.file() + ": expected a target model, found " + drafter,
                 "this is " + drafter + "; give it as --draft-model"};
  }
  SPINDRIFT_TRY(const std::string type, json.get_string("model_type"));
  for (const Entry& entry : kEntries)
    if (entry.family.name == type) return Target{&entry, json};
  return json.error(ErrorCode::kUnsupported, "model_type", known_families());
}

}  // namespace

std::span<const TargetFamily> target_families() { return kFamilies; }

Result<LoadedTarget> load_target(const path& folder, const TargetOptions& options) {
  SPINDRIFT_TRY(const Target target, identify(folder));
  return target.entry->load(folder, target.config, options);
}

Result<TargetDescription> describe_target(const path& folder) {
  SPINDRIFT_TRY(const Target target, identify(folder));
  return target.entry->describe(folder, target.config);
}

}  // namespace spindrift
