#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/inspect.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "cli/units.h"

namespace spindrift::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::vector<std::string> folders;
  bool json = false;
};

std::string report_json(const std::vector<CatalogEntry>& entries) {
  Json models = Json::array();
  for (const CatalogEntry& entry : entries) {
    Json json = {{"name", entry.name}, {"loadable", entry.loadable()},
                 {"role", nullptr},    {"family", nullptr},
                 {"bytes", nullptr},   {"pairs_with", entry.pairs},
                 {"problem", nullptr}};
    if (entry.found) {
      json["role"] = name(entry.found->role);
      json["family"] = entry.found->family;
      json["bytes"] = entry.found->bytes;
    }
    if (!entry.loadable()) json["problem"] = entry.problem;
    models.push_back(std::move(json));
  }
  return Json{{"models", models}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_text(const std::vector<CatalogEntry>& entries) {
  size_t width = 4;
  for (const CatalogEntry& entry : entries) width = std::max(width, entry.name.size());
  std::string out;
  for (const CatalogEntry& entry : entries) {
    const std::string role(entry.found ? name(entry.found->role) : "-");
    const std::string family = entry.found ? entry.found->family : "-";
    const std::string bytes = entry.found ? bytes_text(entry.found->bytes) : "-";
    out += fmt::format("{:<{}}  {:<8} {:<14} {:>11}\n", entry.name, width, role, family, bytes);
    for (const std::string& pair : entry.pairs) out += fmt::format("    pairs with {}\n", pair);
    if (!entry.loadable()) out += fmt::format("    does not load: {}\n", entry.problem);
  }
  return out;
}

int run(const Flags& flags) {
  auto entries = list_models(flags.folders);
  if (!entries.ok()) return fail(entries.error());
  Terminal out(ColorMode::kNever);
  out.write(flags.json ? report_json(entries.value()) : report_text(entries.value()));
  if (entries.value().empty())
    std::fprintf(stderr, "no models in %s%s\n", flags.folders.empty() ? "" : "these folders or in ",
                 hub_cache_folder().c_str());
  return written(out);
}

}  // namespace

Run add_list(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("folder", flags->folders,
                 "Folders to search, besides the local Hugging Face cache")
      ->type_name("FOLDER");
  app.add_flag("--json", flags->json, "One JSON object");
  app.footer(
      "Lists every model and drafter, which pair, and why a folder would not load. Reads no "
      "weights.\n\n"
      "Example:\n  spindrift list models");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
