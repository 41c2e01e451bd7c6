#include "app/inspect.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "core/plural.h"

namespace spindrift::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string model;
  bool check = false;
  bool json = false;
};

Json weights_json(const Inspection& found) {
  Json out = Json::array();
  for (const ModuleGroup& group : found.groups)
    out.push_back({{"module", group.module},
                   {"format", group.format},
                   {"tensors", group.tensors},
                   {"bytes", group.bytes},
                   {"bytes_per_token", group.bytes_per_token}});
  return out;
}

Json layouts_json(const Inspection& found) {
  Json out = Json::object();
  for (const LayoutBytes& layout : found.layouts)
    out[std::string(layout.layout)] = layout.bytes_per_token;
  return out;
}

Json generation_json(const GenerationDefaults& defaults) {
  const SamplingParams& s = defaults.sampling;
  Json out = {{"temperature", s.temperature},
              {"top_k", s.top_k},
              {"top_p", s.top_p},
              {"min_p", s.min_p},
              {"stop_ids", defaults.stop_ids},
              {"max_new_tokens", nullptr},
              {"enable_thinking", nullptr}};
  if (defaults.max_new_tokens) out["max_new_tokens"] = *defaults.max_new_tokens;
  if (defaults.enable_thinking) out["enable_thinking"] = *defaults.enable_thinking;
  return out;
}

std::string report_json(const Inspection& found, const std::vector<std::string>& partners,
                        bool checked) {
  Json config = Json::object();
  for (const auto& [key, value] : found.summary) config[key] = value;
  Json json = {{"model", found.model},
               {"folder", found.folder},
               {"role", name(found.role)},
               {"family", found.family},
               {"config", config},
               {"weights", weights_json(found)},
               {"tensors", found.tensors},
               {"bytes", found.bytes},
               {"bytes_per_token", found.bytes_per_token},
               {"bytes_per_token_by_layout", layouts_json(found)},
               {"rotated_residual", found.rotated_residual},
               {"tokenizer", nullptr},
               {"chat_template", found.chat_template},
               {"generation", nullptr},
               {"pairs_with", partners},
               {"block_scales_checked", checked},
               {"warnings", found.warnings},
               {"problems", found.problems}};
  if (found.tokenizer)
    json["tokenizer"] = {{"vocab_size", found.tokenizer->vocab_size},
                         {"bos", found.tokenizer->bos}};
  if (found.role == ModelRole::kTarget) json["generation"] = generation_json(found.defaults);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("{:<16} {}\n", label, text);
}

std::string weights_text(const Inspection& found) {
  const char* per = found.role == ModelRole::kTarget ? "read per token" : "read per draft";
  std::string out = fmt::format("\n{:<16} {:<8} {:>8} {:>12} {:>15}\n", "weights", "format",
                                "tensors", "bytes", per);
  for (const ModuleGroup& group : found.groups)
    out += fmt::format("{:<16} {:<8} {:>8} {:>12} {:>15}\n", group.module, group.format,
                       group.tensors, bytes_text(group.bytes), bytes_text(group.bytes_per_token));
  out += fmt::format("{:<16} {:<8} {:>8} {:>12} {:>15}\n\n", "all", "", found.tensors,
                     bytes_text(found.bytes), bytes_text(found.bytes_per_token));
  return out;
}

// "per token: MLX 4-bit 0.6 GiB (fewest), NVFP4 ..."
std::string layouts_text(const Inspection& found) {
  std::string out = "per token:";
  for (const LayoutBytes& layout : found.layouts) {
    const bool first = &layout == &found.layouts.front();
    out += fmt::format("{} {} {}{}", first ? "" : ",", layout.layout,
                       bytes_text(layout.bytes_per_token), first ? " (fewest)" : "");
  }
  return out;
}

std::string generation_text(const GenerationDefaults& defaults) {
  const SamplingParams& s = defaults.sampling;
  std::string out = s.temperature > 0 ? fmt::format("temperature {}", s.temperature) : "greedy";
  if (s.temperature > 0 && s.top_k > 0) out += fmt::format(", top-k {}", s.top_k);
  if (s.temperature > 0 && s.top_p < 1) out += fmt::format(", top-p {}", s.top_p);
  if (s.temperature > 0 && s.min_p > 0) out += fmt::format(", min-p {}", s.min_p);
  if (defaults.max_new_tokens) out += ", " + counted(*defaults.max_new_tokens, "new token");
  if (defaults.enable_thinking) out += *defaults.enable_thinking ? ", thinking" : ", no thinking";
  for (size_t i = 0; i < defaults.stop_ids.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? ", stops at " : " and ", defaults.stop_ids[i]);
  return out;
}

std::string report_text(const Inspection& found, const std::vector<std::string>& partners,
                        bool checked) {
  std::string out = line("model", found.model);
  if (found.folder != found.model) out += line("folder", found.folder);
  out += line("role", fmt::format("{} ({})", name(found.role), found.family));
  for (const auto& [key, value] : found.summary) out += line(key, value);
  if (found.rotated_residual)
    out += line("residual", "rotated offline: a drafter must be made for this precision");
  out += weights_text(found);
  if (!found.layouts.empty()) out += line("layouts", layouts_text(found));
  if (found.role == ModelRole::kTarget) {
    if (found.tokenizer)
      out += line(
          "tokenizer",
          fmt::format("{}, {}", counted(found.tokenizer->vocab_size, "token"),
                      found.tokenizer->bos.empty() ? "no BOS" : "BOS " + found.tokenizer->bos));
    out += line("chat template", found.chat_template ? "yes" : "none");
    out += line("generation", generation_text(found.defaults));
  }
  if (partners.empty()) out += line("pairs with", "nothing beside it or in the local cache");
  for (const std::string& partner : partners) out += line("pairs with", partner);
  if (checked) out += line("block scales", "all read");
  for (const std::string& warning : found.warnings) out += line("warning", warning);
  for (const std::string& problem : found.problems) out += line("problem", problem);
  return out;
}

int run(const Flags& flags) {
  auto inspected = inspect_model(flags.model, flags.check);
  if (!inspected.ok()) return fail(inspected.error());
  const Inspection& found = inspected.value();
  const std::vector<std::string> partners = find_partners(found);
  Terminal out(ColorMode::kNever);
  out.write(flags.json ? report_json(found, partners, flags.check)
                       : report_text(found, partners, flags.check));
  if (!found.problems.empty()) return fail({ErrorCode::kInvalid, found.problems.front()});
  return written(out);
}

}  // namespace

Run add_inspect(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("model", flags->model, "A folder, or org/name[@revision] in the local cache")
      ->required()
      ->type_name("MODEL");
  app.add_flag("--check", flags->check, "Read every block scale and FP8 weight too");
  app.add_flag("--json", flags->json, "One JSON object");
  app.footer(
      "Reads configs and headers, no weights (but for --check). Exit code 3 when it would not "
      "load.\n\n"
      "Examples:\n"
      "  spindrift inspect models/laguna-tiny-nvfp4\n"
      "  spindrift inspect --check --json poolside/Laguna-XS-2.1-NVFP4");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
