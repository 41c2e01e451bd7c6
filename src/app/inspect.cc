#include "app/inspect.h"

#include <algorithm>
#include <set>
#include <utility>

#include "app/assemble.h"
#include "drafters/registry.h"
#include "io/json_config.h"
#include "io/model_dir.h"
#include "models/check_scales.h"
#include "models/registry.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxNeighbours = 200;  // folders beside a model that are looked at

void add_store(WeightStore& store, bool check_scales, Inspection& out) {
  out.tensors = static_cast<int64_t>(store.size());
  out.bytes = store.total_bytes();
  for (const ModuleGroup& group : out.groups) out.bytes_per_token += group.bytes_per_token;
  if (!check_scales) return;
  for (std::string& problem : check_quantised_numbers(store))
    out.problems.push_back(std::move(problem));
}

// A target's tokenizer, template and generation defaults.
void add_texts(Inspection& out) {
  auto tokenizer = load_text_parts(out.folder, TextPart::kTokenizer);
  if (tokenizer.ok()) {
    const Tokenizer& t = *tokenizer.value().tokenizer;
    out.tokenizer = {.vocab_size = t.vocab_size(), .bos = std::string(t.bos_text())};
    const Status fits = check_vocabulary(out.folder, t, out.facts->info.vocab);
    if (!fits.ok()) out.problems.push_back(fits.error().message);
  } else {
    out.problems.push_back(tokenizer.error().message);
  }
  auto chat = load_text_parts(out.folder, TextPart::kTemplate);
  if (chat.ok()) {
    out.chat_template = chat.value().chat_template != nullptr;
    out.defaults = chat.value().defaults;
  } else {
    out.problems.push_back(chat.error().message);
  }
}

Status describe(const fs::path& folder, bool check_scales, Inspection& out) {
  SPINDRIFT_TRY(const JsonObject config, JsonObject::parse_file(folder / "config.json"));
  if (!drafter_kind_of(config).empty()) {
    SPINDRIFT_TRY(DrafterDescription drafter, describe_drafter(folder));
    out.role = ModelRole::kDrafter;
    out.family = std::move(drafter.kind);
    out.summary = std::move(drafter.summary);
    out.groups = std::move(drafter.groups);
    out.warnings = std::move(drafter.warnings);
    out.problems = std::move(drafter.problems);
    add_store(*drafter.store, check_scales, out);
    return ok_status();
  }
  SPINDRIFT_TRY(TargetDescription target, describe_target(folder));
  out.role = ModelRole::kTarget;
  out.family = target.family;
  out.summary = std::move(target.summary);
  out.groups = std::move(target.groups);
  out.rotated_residual = target.rotated_residual;
  out.facts = TargetFacts{.family = target.family, .info = target.info};
  out.warnings = std::move(target.warnings);
  out.problems = std::move(target.problems);
  add_store(*target.store, check_scales, out);
  const bool mixture = std::any_of(out.groups.begin(), out.groups.end(), [](const ModuleGroup& g) {
    return g.module == "routed experts";
  });
  if (mixture) out.layouts = compare_layouts(out.groups);
  add_texts(out);
  return ok_status();
}

Result<Inspection> inspect_folder(std::string model, const fs::path& folder, bool check_scales) {
  Inspection out;
  out.model = std::move(model);
  out.folder = folder.string();
  SPINDRIFT_TRY_STATUS(describe(folder, check_scales, out));
  return out;
}

fs::path real_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  return error ? folder : real;
}

// Folders with a config.json beside `folder`.
std::vector<ModelCandidate> neighbours(const fs::path& folder) {
  std::vector<ModelCandidate> out;
  const fs::path given = folder.lexically_normal();
  const bool plain = given.has_filename() && given.has_parent_path() && given.filename() != "..";
  const fs::path parent = (plain ? given : real_folder(folder)).parent_path();
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (static_cast<int>(out.size()) >= kMaxNeighbours) break;
    if (fs::exists(at->path() / "config.json", ignored))
      out.push_back({.name = at->path().string(), .folder = at->path()});
  }
  return out;
}

std::vector<ModelCandidate> cached_models() {
  auto found = find_models(hub_cache_dir());
  return found.ok() ? std::move(found).value() : std::vector<ModelCandidate>();
}

}  // namespace

std::string_view name(ModelRole role) { return role == ModelRole::kTarget ? "target" : "drafter"; }

Result<Inspection> inspect_model(const std::string& model, bool check_scales) {
  SPINDRIFT_TRY(const fs::path folder, resolve_model(model));
  return inspect_folder(model, folder, check_scales);
}

Status check_pair(const Inspection& target, const Inspection& drafter) {
  SPINDRIFT_TRY(const JsonObject config,
                JsonObject::parse_file(fs::path(drafter.folder) / "config.json"));
  return check_drafter_pairing(config, *target.facts);
}

std::vector<std::string> find_partners(const Inspection& model) {
  std::vector<ModelCandidate> candidates = neighbours(model.folder);
  for (ModelCandidate& cached : cached_models()) candidates.push_back(std::move(cached));
  std::set<std::string> names;
  for (const ModelCandidate& candidate : candidates) {
    // Configs first: only what can be a partner is opened.
    const auto config = JsonObject::parse_file(candidate.folder / "config.json");
    const bool is_drafter = config.ok() && !drafter_kind_of(config.value()).empty();
    if (!config.ok() || is_drafter == (model.role == ModelRole::kDrafter)) continue;
    if (is_drafter) {
      if (check_drafter_pairing(config.value(), *model.facts).ok()) names.insert(candidate.name);
      continue;
    }
    const auto target = describe_target(candidate.folder);
    if (!target.ok()) continue;
    Inspection other;
    other.facts = TargetFacts{.family = target.value().family, .info = target.value().info};
    if (check_pair(other, model).ok()) names.insert(candidate.name);
  }
  return {names.begin(), names.end()};
}

std::string hub_cache_folder() { return hub_cache_dir().string(); }

Result<std::vector<CatalogEntry>> list_models(const std::vector<std::string>& folders) {
  std::vector<ModelCandidate> candidates;
  for (const std::string& folder : folders) {
    auto found = find_models(folder);
    if (!found.ok()) return Error{ErrorCode::kUsage, found.error().message};
    for (ModelCandidate& candidate : found.value()) candidates.push_back(std::move(candidate));
  }
  for (ModelCandidate& cached : cached_models()) candidates.push_back(std::move(cached));

  std::vector<CatalogEntry> entries;
  std::set<std::string> seen;
  for (const ModelCandidate& candidate : candidates) {
    if (!seen.insert(real_folder(candidate.folder).string()).second) continue;
    CatalogEntry entry{.name = candidate.name, .found = {}, .problem = {}, .pairs = {}};
    auto found = inspect_folder(candidate.name, candidate.folder, /*check_scales=*/false);
    if (found.ok()) {
      entry.found = std::move(found).value();
      if (!entry.found->problems.empty()) entry.problem = entry.found->problems.front();
    } else {
      entry.problem = found.error().message;
    }
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const CatalogEntry& a, const CatalogEntry& b) { return a.name < b.name; });
  for (CatalogEntry& target : entries) {
    if (!target.loadable() || target.found->role != ModelRole::kTarget) continue;
    for (CatalogEntry& drafter : entries) {
      if (!drafter.loadable() || drafter.found->role != ModelRole::kDrafter) continue;
      if (!check_pair(*target.found, *drafter.found).ok()) continue;
      target.pairs.push_back(drafter.name);
      drafter.pairs.push_back(target.name);
    }
  }
  return entries;
}

}  // namespace spindrift
