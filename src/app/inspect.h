#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/generation_defaults.h"
#include "app/layout_bytes.h"
#include "core/result.h"
#include "drafters/pairing.h"
#include "io/checkpoint_summary.h"

namespace spindrift {

enum class ModelRole : uint8_t { kTarget, kDrafter };
std::string_view name(ModelRole role);  // "target", "drafter"

struct TokenizerSummary {
  int64_t vocab_size = 0;
  std::string bos;  // its text; empty = none
};

// What a model folder holds, by its config, the headers of its weight files and its texts.
struct Inspection {
  std::string model;   // as given
  std::string folder;  // that it stands for
  ModelRole role = ModelRole::kTarget;
  std::string family;  // a target's family, a drafter's kind
  ConfigSummary summary;
  std::vector<ModuleGroup> groups;
  int64_t tensors = 0, bytes = 0;
  int64_t bytes_per_token = 0;  // that decoding one token reads; of a drafter: one draft
  // Of a target with experts: the same in each published layout, fewest first.
  std::vector<LayoutBytes> layouts;
  bool rotated_residual = false;     // of a target: drafters must be of its precision
  std::optional<TargetFacts> facts;  // of a target: what a drafter must fit
  std::optional<TokenizerSummary> tokenizer;
  bool chat_template = false;
  GenerationDefaults defaults;
  std::vector<std::string> warnings;
  std::vector<std::string> problems;  // what keeps it from loading, one line each
};

// Reads config, headers, tokenizer and template of `model`; never weights, but for `check_scales`,
// which reads every block scale. Fails where the config or a header cannot be made sense of; what
// is wrong beyond that is in `problems`.
Result<Inspection> inspect_model(const std::string& model, bool check_scales);

// Whether these two can run together: ok, or why not.
Status check_pair(const Inspection& target, const Inspection& drafter);

// The names of what pairs with `model` among the folders beside it and the local hub cache,
// ascending.
std::vector<std::string> find_partners(const Inspection& model);

// A folder with a config.json, loadable or not.
struct CatalogEntry {
  std::string name;  // a path, or an id in the hub cache
  std::optional<Inspection> found;
  std::string problem;             // why it does not load; empty when it does
  std::vector<std::string> pairs;  // names of the entries it can run with

  bool loadable() const { return problem.empty(); }
};

// Where list_models() looks besides.
std::string hub_cache_folder();

// Every model folder in `folders` and the local hub cache, names ascending, each folder once.
// kUsage when one of `folders` is none.
Result<std::vector<CatalogEntry>> list_models(const std::vector<std::string>& folders);

}  // namespace spindrift
