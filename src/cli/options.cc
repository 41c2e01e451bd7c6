#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <memory>

#include "cli/checks.h"
#include "core/utf8.h"

namespace spindrift::cli {
namespace {

constexpr size_t kMaxTextBytes = size_t{256} << 20;

Error usage(std::string message) { return {ErrorCode::kUsage, std::move(message)}; }

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

}  // namespace

void add_load_flags(CLI::App& app, MachineFlags& flags) {
  app.add_option("--threads", flags.threads,
                 "Threads (default: physical cores this process may use)")
      ->check(whole_number(1, 1024))
      ->group("Machine");
  app.add_option("--kv-dtype", flags.kv_dtype, "How keys and values are kept")
      ->type_name("f32|bf16")
      ->check(one_of({"f32", "bf16"}))
      ->capture_default_str()
      ->group("Machine");
  app.add_flag("--lock", flags.lock, "Keep the weights in memory (mlock)")->group("Machine");
  app.add_flag("--large-pages", flags.large_pages,
               "Copy the weights into large pages: memory of their size, not shared")
      ->group("Machine");
  app.add_flag("--rope-derived", flags.rope_derived,
               "Use YaRN's derived multiplier instead of the config's attention_factor")
      ->group("Model");
}

void add_prefill_flag(CLI::App& app, MachineFlags& flags) {
  app.add_option("--prefill-chunk", flags.prefill_chunk, "Prompt tokens in one forward")
      ->check(whole_number(1, int64_t{1} << 20))
      ->capture_default_str()
      ->group("Machine");
}

void add_machine_flags(CLI::App& app, MachineFlags& flags) {
  add_load_flags(app, flags);
  add_prefill_flag(app, flags);
  app.add_option("--ctx", flags.context, "Context limit in tokens (default: the model's)")
      ->check(whole_number(1, int64_t{1} << 40))
      ->group("Machine");
  app.add_option("--memory-limit", flags.memory_limit,
                 "Keys, values and draft context at most, as 512M or 4G (default: no limit)")
      ->type_name("BYTES")
      ->transform(byte_count())
      ->group("Machine");
}

void add_model_flag(CLI::App& app, ModelFlags& flags) {
  app.add_option("-m,--model", flags.model,
                 "Target: a folder, or an org/name[@revision] in the local cache")
      ->required()
      ->type_name("MODEL")
      ->group("Model");
}

namespace {

void add_drafter_flag(CLI::App& app, ModelFlags& flags) {
  app.add_option("--draft-model", flags.draft_model, "Drafter: the same")
      ->type_name("MODEL")
      ->group("Model");
  app.add_option("--draft-kind", flags.draft_kind,
                 "auto, dflash, mlp_speculator, or none: --draft-model is not loaded")
      ->type_name("KIND")
      ->check(one_of({"auto", "dflash", "mlp_speculator", "none"}))
      ->capture_default_str()
      ->group("Model");
}

void add_tree_flags(CLI::App& app, ModelFlags& flags) {
  app.add_option("--draft-top-k", flags.draft_options.top_k,
                 "mlp_speculator: a tree of the tokens tried after each stage, as 4,3,2,2")
      ->type_name("K,K,..")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group("Model");
  app.add_option("--draft-candidates", flags.draft_options.candidates,
                 "mlp_speculator: continuations verified per round; 1 = a chain")
      ->type_name("N")
      ->group("Model");
}

}  // namespace

void add_draft_flags(CLI::App& app, ModelFlags& flags) {
  add_drafter_flag(app, flags);
  app.add_option("--draft-tokens", flags.draft_tokens,
                 "Draft tokens per round, in a tree per path: auto or a count (default: auto)")
      ->type_name("auto|N")
      ->group("Model");
  add_tree_flags(app, flags);
}

void add_drafter_flags(CLI::App& app, ModelFlags& flags) {
  add_drafter_flag(app, flags);
  add_tree_flags(app, flags);
}

void add_sampling_flags(CLI::App& app, SamplingFlags& flags) {
  const auto add = [&app](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->group("Sampling");
  };
  add("-n,--max-tokens", flags.max_new_tokens,
      "New tokens at most (default: what generation_config.json says, else the context)")
      ->check(whole_number(0, int64_t{1} << 40));
  add("--temp", flags.temperature, "Temperature; 0 = greedy")->check(real_number(0, 100));
  add("--top-k", flags.top_k, "Keep the k likeliest tokens; 0 = off")
      ->check(whole_number(0, 1 << 30));
  add("--top-p", flags.top_p, "Keep the likeliest tokens that hold this mass")
      ->check(real_number(0, 1));
  add("--min-p", flags.min_p, "Drop tokens below this share of the likeliest")
      ->check(real_number(0, 1));
  add("--repeat-penalty", flags.repeat_penalty, "Penalty on tokens already in the text; 1 = off")
      ->check(positive_number());
  add("--seed", flags.seed, "Seed of the sampling noise (default 0)")->check(seed_number());
  add("--stop", flags.stop, "Stop before this text; may be given several times")
      ->allow_extra_args(false);
  app.add_flag("--ignore-eos", flags.ignore_eos, "Stop ids may be produced and do not stop")
      ->group("Sampling");
}

std::optional<bool> ThinkFlags::value() const {
  if (think) return true;
  if (no_think) return false;
  return std::nullopt;
}

void add_think_flags(CLI::App& app, ThinkFlags& flags) {
  auto* think = app.add_flag("--think", flags.think, "Ask the template for reasoning");
  think->group("Prompt");
  app.add_flag("--no-think", flags.no_think, "Ask the template for an answer without reasoning")
      ->excludes(think)
      ->group("Prompt");
}

void add_color_flag(CLI::App& app, ColorMode& color) {
  const auto set = [&color](const std::string& when) {
    color = when == "always"  ? ColorMode::kAlways
            : when == "never" ? ColorMode::kNever
                              : ColorMode::kAuto;
  };
  app.add_option_function<std::string>("--color", set,
                                       "Shade accepted draft tokens and reasoning (default: auto)")
      ->type_name("auto|always|never")
      ->check(one_of({"auto", "always", "never"}))
      ->group("Output");
}

AssembleOptions assemble_options(const ModelFlags& model, const MachineFlags& machine) {
  AssembleOptions out;
  out.model = model.model;
  out.draft_model = model.draft_model;
  out.draft_kind = model.draft_kind;
  out.draft_options = model.draft_options;
  out.threads = machine.threads;
  out.kv_dtype = machine.kv_dtype == "bf16" ? DType::kBf16 : DType::kF32;
  out.rope_derived = machine.rope_derived;
  out.lock = machine.lock;
  out.large_pages = machine.large_pages;
  out.context = machine.context;
  return out;
}

EngineOptions engine_options(const MachineFlags& machine) {
  EngineOptions out;
  out.prefill_chunk = machine.prefill_chunk;
  out.max_running = 1;
  out.memory_budget = machine.memory_limit;
  out.context = machine.context;
  return out;
}

Result<DraftWidth> draft_width(const ModelFlags& flags, const Drafter* drafter, bool quiet) {
  const MlpSpeculatorOptions& options = flags.draft_options;
  const bool asks_for_drafts =
      (flags.draft_kind != "auto" && flags.draft_kind != "none") || !options.top_k.empty() ||
      options.candidates ||
      (!flags.draft_tokens.empty() && flags.draft_tokens != "auto" && flags.draft_tokens != "0");
  if (flags.draft_model.empty() && asks_for_drafts && !quiet)
    warn("draft flags do nothing without --draft-model");
  const bool shaped = drafter != nullptr && (!options.top_k.empty() || options.candidates);
  const int nodes = shaped ? drafter->max_nodes() : 0;
  const std::string& text = flags.draft_tokens;
  if (text.empty() && shaped)
    return DraftWidth{
        .mode = DraftWidth::Mode::kFixed, .tokens = drafter->max_depth(), .nodes = nodes};
  if (text.empty() || text == "auto") return DraftWidth{};
  int tokens = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tokens);
  if (error != std::errc{} || end != text.data() + text.size() || tokens < 0)
    return usage(fmt::format("--draft-tokens: expected auto or a count, found `{}`", text));
  if (drafter != nullptr && tokens > drafter->max_depth()) {
    if (!quiet)
      warn(fmt::format("--draft-tokens {} is above this drafter's maximum; using {}", tokens,
                       drafter->max_depth()));
    tokens = drafter->max_depth();
  }
  if (tokens == 0) return DraftWidth{.mode = DraftWidth::Mode::kOff};
  return DraftWidth{.mode = DraftWidth::Mode::kFixed, .tokens = tokens, .nodes = nodes};
}

SamplingParams sampling_params(const SamplingFlags& flags, const GenerationDefaults& defaults) {
  SamplingParams out = defaults.sampling;
  if (flags.temperature) out.temperature = *flags.temperature;
  if (flags.top_k) out.top_k = *flags.top_k;
  if (flags.top_p) out.top_p = *flags.top_p;
  if (flags.min_p) out.min_p = *flags.min_p;
  if (flags.repeat_penalty) out.repetition_penalty = *flags.repeat_penalty;
  if (flags.seed) out.seed = *flags.seed;
  return out;
}

StopSpec stop_spec(const SamplingFlags& flags, const GenerationDefaults& defaults) {
  StopSpec out;
  out.ids = defaults.stop_ids;
  out.texts = flags.stop;
  out.ignore_eos = flags.ignore_eos;
  out.max_new_tokens = flags.max_new_tokens ? flags.max_new_tokens : defaults.max_new_tokens;
  return out;
}

Result<std::vector<TokenId>> parse_ids(const std::string& text, int64_t vocab) {
  std::string list = text;
  if (!text.empty() && text.front() == '@') {
    SPINDRIFT_TRY(list, read_text(text.substr(1)));
  }
  std::vector<TokenId> ids;
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto skip_blanks = [&] {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
  };
  for (skip_blanks(); at != end;) {
    int64_t id = -1;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || id < 0 || id >= vocab) {
      const std::string_view rest(at, static_cast<size_t>(end - at));
      const std::string found(rest.substr(0, std::min<size_t>(rest.find_first_of(",\n "), 24)));
      return usage(fmt::format("token id {}: expected a number in [0, {}), found `{}`", ids.size(),
                               vocab, found));
    }
    ids.push_back(static_cast<TokenId>(id));
    at = next;
    skip_blanks();
    if (at == end) break;
    if (*at != ',')
      return usage(
          fmt::format("token ids: expected `,` after id {}, found `{}`", ids.size() - 1, *at));
    ++at;
    skip_blanks();
  }
  return ids;
}

Error name_files(Error error, const std::string& messages, const std::string& tools) {
  if (!messages.empty() && error.message.starts_with("messages"))
    error.message.insert(0, messages + ": ");
  if (!tools.empty() && error.message.starts_with("tools")) error.message.insert(0, tools + ": ");
  return error;
}

void add_stdin_argument(CLI::App& app, std::string& target, const char* help) {
  app.add_option("input", target, help)->type_name("-");
}

Status check_stdin_argument(const std::string& value) {
  if (value.empty() || value == "-") return ok_status();
  return usage(fmt::format("arguments: expected flags or -, found `{}`", value));
}

Result<std::string> read_text(const std::string& path) {
  const bool standard_input = path == "-";
  std::unique_ptr<std::FILE, CloseFile> file(standard_input ? stdin
                                                            : std::fopen(path.c_str(), "rb"));
  if (!file) return usage(fmt::format("{}: expected a readable file", path));
  std::string text;
  char block[1 << 16];
  for (size_t got = 0; (got = std::fread(block, 1, sizeof block, file.get())) > 0;) {
    text.append(block, got);
    if (text.size() > kMaxTextBytes)
      return usage(fmt::format("{}: expected at most {} bytes", path, kMaxTextBytes));
  }
  if (std::ferror(file.get()) != 0) return usage(fmt::format("{}: expected a readable file", path));
  return text;
}

Result<std::string> read_prompt(const std::string& path) {
  SPINDRIFT_TRY(std::string text, read_text(path));
  if (valid_utf8(text)) return text;
  return usage(fmt::format("{}: expected UTF-8, found bytes that are not",
                           path == "-" ? "standard input" : path));
}

Result<std::string> read_tools(const std::string& path) {
  if (path.empty()) return std::string();
  SPINDRIFT_TRY(std::string text, read_text(path));
  if (!text.empty()) return text;
  return usage(fmt::format("{}: expected a JSON array of tools, found an empty file", path));
}

}  // namespace spindrift::cli
