#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>

#include "app/cost_cache.h"
#include "app/pair_warnings.h"
#include "app/prompt.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/turn.h"

namespace spindrift::cli {
namespace {

struct Flags {
  ModelFlags model;
  MachineFlags machine;
  SamplingFlags sampling;
  ThinkFlags think;
  std::optional<std::string> prompt, prompt_file, prompt_ids, system;
  std::string standard_input, messages, tools;
  bool raw = false;
  bool json = false;
  bool quiet = false;
  RecordFlags records;
  ColorMode color = ColorMode::kAuto;
};

// The user's text: -p, --prompt-file or standard input.
Result<std::string> user_text(const Flags& flags) {
  if (flags.prompt) return *flags.prompt;
  return read_prompt(flags.prompt_file.value_or("-"));
}

Status check(const Flags& flags) {
  SPINDRIFT_TRY_STATUS(check_stdin_argument(flags.standard_input));
  const bool given[] = {flags.prompt.has_value(), flags.prompt_file.has_value(),
                        flags.prompt_ids.has_value(), !flags.messages.empty(),
                        !flags.standard_input.empty()};
  const auto sources = std::count(std::begin(given), std::end(given), true);
  if (sources != 1)
    return Error{
        ErrorCode::kUsage,
        "generate: expected one of -p, --prompt-file, --prompt-ids, --messages or -, found " +
            std::string(sources == 0 ? "none" : "several"),
        "see spindrift generate --help"};
  const bool chat_flags =
      flags.system || !flags.tools.empty() || flags.think.value() || !flags.messages.empty();
  if ((flags.raw || flags.prompt_ids) && chat_flags)
    return Error{ErrorCode::kUsage,
                 "generate: --system, --messages, --tools, --think and --no-think need the chat "
                 "template, which --raw and --prompt-ids leave out"};
  if (flags.system && !flags.messages.empty())
    return Error{ErrorCode::kUsage,
                 "generate: --messages is a whole conversation; put the system text into it"};
  return ok_status();
}

// tools: the text of flags.tools.
Result<Prompt> make_prompt(const Flags& flags, const std::string& tools, const Assembly& assembly) {
  if (flags.prompt_ids) {
    SPINDRIFT_TRY(auto ids, parse_ids(*flags.prompt_ids, assembly.target().info().vocab));
    return Prompt{.text = {}, .ids = std::move(ids)};
  }
  const bool wants_chat =
      flags.system || !flags.tools.empty() || flags.think.value() || !flags.messages.empty();
  if (flags.raw || (assembly.chat_template() == nullptr && !wants_chat)) {
    SPINDRIFT_TRY(const std::string text, user_text(flags));
    return raw_prompt(assembly.tokenizer(), text);
  }
  ChatInput input{.messages_json = {}, .tools_json = tools, .enable_thinking = flags.think.value()};
  if (!flags.messages.empty()) {
    SPINDRIFT_TRY(input.messages_json, read_text(flags.messages));
  } else {
    std::vector<Message> messages;
    if (flags.system) messages.push_back({.role = "system", .content = *flags.system});
    SPINDRIFT_TRY(std::string text, user_text(flags));
    messages.push_back({.role = "user", .content = std::move(text)});
    input.messages_json = messages_json(messages);
  }
  return chat_prompt(assembly, input);
}

int run(const Flags& flags) {
  if (const Status valid = check(flags); !valid.ok()) return fail(valid.error());
  auto records = open_records(flags.records);
  if (!records.ok()) return fail(records.error());
  auto tools = read_tools(flags.tools);
  if (!tools.ok()) return fail(tools.error());
  auto loaded = load(assemble_options(flags.model, flags.machine), flags.quiet);
  if (!loaded.ok()) return fail(loaded.error());
  const Assembly& assembly = *loaded.value();
  auto prompt = make_prompt(flags, tools.value(), assembly);
  if (!prompt.ok()) return fail(name_files(prompt.error(), flags.messages, flags.tools));
  auto width = draft_width(flags.model, assembly.drafter(), flags.quiet);
  if (!width.ok()) return fail(width.error());

  Request request;
  request.sampling = sampling_params(flags.sampling, assembly.defaults());
  request.stop = stop_spec(flags.sampling, assembly.defaults());
  request.draft = width.value();
  request.ledger = flags.json || !flags.records.ledger.empty();
  request.cancelled = &interrupted();

  Terminal out(flags.color);
  Progress progress(flags.quiet);
  const TurnOptions options{.terminal = flags.json ? nullptr : &out,
                            .progress = &progress,
                            .show_reasoning = out.interactive(),
                            .split = !flags.raw && !flags.prompt_ids,
                            .ledger = records.value().ledger.get(),
                            .trace = records.value().trace.get(),
                            .tools_json = tools.value()};
  EngineOptions engine_settings = engine_options(flags.machine);
  const CostCache cache(assembly);
  engine_settings.costs = cache.load();
  Engine engine(assembly.target(), assembly.drafter(), assembly.exec(), engine_settings);
  const InterruptScope scope;
  auto turn = run_turn(assembly, engine, std::move(request), prompt.value(), options);
  if (!turn.ok()) return fail(turn.error());
  const Outcome& outcome = turn.value().outcome;
  cache.save(engine.costs());

  if (flags.json && !outcome.error) {
    out.write(report_json(assembly, {.prompt_ids = prompt.value().ids, .draft = width.value()},
                          outcome, turn.value().answer));
  } else if (!flags.json) {
    print_tool_calls(turn.value().answer, out);
  }
  out.end_line();
  if (!flags.quiet && !flags.json)
    std::fputs(report_text(outcome, assembly.drafter() != nullptr).c_str(), stderr);
  if (const auto warning = unlikely_pair_warning(assembly.model_name(), assembly.draft_model_name(),
                                                 outcome.stats.draft);
      warning && !flags.quiet)
    warn(*warning);
  if (outcome.error) return fail(*outcome.error);
  if (const ExitCode code = finish(records.value()); code != kOk) return code;
  if (outcome.reason == FinishReason::kInterrupted && out.ok()) return kInterrupted;
  return written(out);
}

}  // namespace

Run add_generate(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  add_draft_flags(app, flags->model);
  const auto prompt = [&app](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->group("Prompt");
  };
  prompt("-p,--prompt", flags->prompt, "The user's text");
  prompt("--prompt-file", flags->prompt_file, "File with the user's text")->type_name("FILE");
  prompt("--prompt-ids", flags->prompt_ids, "Token ids, taken as they are: \"2,31,7\" or @FILE")
      ->type_name("IDS");
  prompt("--messages", flags->messages, "A whole conversation: JSON array as in OpenAI's API")
      ->type_name("FILE");
  prompt("--tools", flags->tools, "Tools: JSON array as in OpenAI's API")->type_name("FILE");
  prompt("--system", flags->system, "System text");
  add_stdin_argument(app, flags->standard_input, "Reads the user's text from standard input");
  app.add_flag("--raw", flags->raw, "Continue the text without a chat template")->group("Prompt");
  add_think_flags(app, flags->think);
  add_sampling_flags(app, flags->sampling);
  add_machine_flags(app, flags->machine);
  app.add_flag("--json", flags->json, "Print one JSON object at the end instead of streaming")
      ->group("Output");
  add_record_flags(app, flags->records);
  add_color_flag(app, flags->color);
  app.add_flag("--quiet", flags->quiet, "No progress, warnings or figures")->group("Output");
  app.footer(
      "Examples:\n"
      "  spindrift generate -m MODEL -p 'Write a function that merges two sorted lists.'\n"
      "  spindrift generate -m MODEL --draft-model DRAFTER --draft-tokens 7 --json -p 'Hello'\n"
      "  git diff | spindrift generate -m MODEL --system 'Review this change.' -");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
