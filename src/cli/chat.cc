#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "app/cost_cache.h"
#include "app/pair_warnings.h"
#include "app/prompt.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/loading.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/turn.h"

namespace spindrift::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  ModelFlags model;
  MachineFlags machine;
  SamplingFlags sampling;
  ThinkFlags think;
  std::optional<std::string> system;
  std::string messages, tools;
  RecordFlags records;
  ColorMode color = ColorMode::kAuto;
  bool quiet = false;
};

constexpr const char* kHelp =
    "  /reset            forget the conversation\n"
    "  /system [TEXT]    set the system text (and forget the conversation), or clear it\n"
    "  /think [on|off]   ask for reasoning, or for none; alone: the model's default\n"
    "  /stats            figures of the last answer\n"
    "  /save FILE        write the conversation as JSON (generate --messages reads it)\n"
    "  /help             this list\n"
    "  /quit             leave (Ctrl-D too); Ctrl-C stops an answer\n";

// What flags name, opened and read.
struct Inputs {
  std::string messages;  // what stands between the brackets of a JSON array
  std::string tools;
  Records records;
};

// The text between the outer brackets of a JSON array.
Result<std::string> array_items(const std::string& text, const std::string& file) {
  if (!Json::accept(text) || !Json::parse(text).is_array())
    return Error{ErrorCode::kUsage, file + ": expected a JSON array of messages"};
  const size_t open = text.find('['), close = text.rfind(']');
  const size_t first = text.find_first_not_of(" \t\r\n", open + 1);
  return first == close ? std::string() : text.substr(first, close - first);
}

Result<Inputs> read_inputs(const Flags& flags) {
  Inputs out;
  if (!flags.messages.empty()) {
    if (flags.system)
      return Error{ErrorCode::kUsage,
                   "chat: --messages is a whole conversation; put the system text into it"};
    SPINDRIFT_TRY(const std::string text, read_text(flags.messages));
    SPINDRIFT_TRY(out.messages, array_items(text, flags.messages));
  }
  SPINDRIFT_TRY(out.tools, read_tools(flags.tools));
  SPINDRIFT_TRY(out.records, open_records(flags.records));
  return out;
}

class Chat {
 public:
  Chat(const Assembly& assembly, const Flags& flags, DraftWidth width, const Inputs& inputs)
      : assembly_(assembly),
        flags_(flags),
        width_(width),
        inputs_(inputs),
        out_(flags.color),
        progress_(flags.quiet),
        costs_(assembly),
        engine_(assembly.target(), assembly.drafter(), assembly.exec(), options(flags, costs_)),
        system_(flags.system),
        think_(flags.think.value()) {
    reset();
    if (!inputs.messages.empty()) messages_ = {inputs.messages};
  }

  // False when the conversation is over.
  bool line(const std::string& text) {
    if (text.empty()) return out_.ok();
    if (text.front() == '/') return command(text);
    answer(text);
    return out_.ok();
  }

  // What the conversation ends with: a script learns of the first question without an answer.
  ExitCode end(Inputs& inputs, bool interactive) {
    if (const ExitCode code = finish(inputs.records); code != kOk) return code;
    if (const ExitCode code = written(out_); code != kOk) return code;
    return interactive ? kOk : first_failure_;
  }

 private:
  void reset() {
    messages_.clear();
    if (system_) add({{"role", "system"}, {"content", *system_}});
    conversation_.reset();
  }

  void add(const Json& message) {
    messages_.push_back(message.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  std::string messages_json() const { return fmt::format("[{}]", fmt::join(messages_, ",\n ")); }

  bool command(const std::string& text) {
    const size_t space = text.find(' ');
    const std::string name = text.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : text.substr(space + 1);
    if (name == "/quit" || name == "/exit") return false;
    if (name == "/reset") {
      reset();
      say("conversation forgotten");
    } else if (name == "/system") {
      system_ = rest.empty() ? std::nullopt : std::optional(rest);
      reset();
      say(system_ ? "system text set, conversation forgotten"
                  : "no system text, conversation forgotten");
    } else if (name == "/think") {
      if (rest == "on" || rest == "off")
        think_ = rest == "on";
      else if (rest.empty())
        think_.reset();
      else
        say("/think: expected on, off or nothing, found `" + rest + "`");
    } else if (name == "/stats") {
      say(stats_.empty() ? "no answer yet" : stats_);
    } else if (name == "/save") {
      save(rest);
    } else {
      say(name == "/help" ? kHelp : "unknown command " + name + "\n" + kHelp);
    }
    return true;
  }

  void say(std::string text) {
    if (text.empty() || text.back() != '\n') text += '\n';
    std::fputs(text.c_str(), stderr);
  }

  void save(const std::string& path) {
    if (path.empty()) return say("/save: expected a file name");
    std::ofstream file(path);
    file << messages_json() << '\n';
    file.flush();
    say(file ? "saved to " + path : path + ": expected a file that can be written");
  }

  void answer(const std::string& text) {
    add({{"role", "user"}, {"content", text}});
    if (const Status done = try_answer(); !done.ok()) {
      const ExitCode code = fail(name_files(done.error(), flags_.messages, flags_.tools));
      if (first_failure_ == kOk) first_failure_ = code;
      messages_.pop_back();  // the question that was not answered
    }
  }

  Status try_answer() {
    SPINDRIFT_TRY(const Prompt prompt, chat_prompt(assembly_, {.messages_json = messages_json(),
                                                               .tools_json = inputs_.tools,
                                                               .enable_thinking = think_}));
    Request request;
    request.sampling = sampling_params(flags_.sampling, assembly_.defaults());
    request.stop = stop_spec(flags_.sampling, assembly_.defaults());
    request.draft = width_;
    request.cancelled = &interrupted();
    request.ledger = inputs_.records.ledger.get() != nullptr;
    request.conversation = std::move(conversation_);
    clear_interrupt();
    SPINDRIFT_TRY(Turn turn, run_turn(assembly_, engine_, std::move(request), prompt,
                                      {.terminal = &out_,
                                       .progress = &progress_,
                                       .show_reasoning = out_.interactive(),
                                       .ledger = inputs_.records.ledger.get(),
                                       .trace = inputs_.records.trace.get(),
                                       .tools_json = inputs_.tools}));
    clear_interrupt();
    conversation_ = std::move(turn.outcome.conversation);
    remember(turn.answer);
    out_.end_line();
    stats_ = report_text(turn.outcome, assembly_.drafter() != nullptr);
    warn_of_pair(turn.outcome.stats.draft);
    costs_.save(engine_.costs());
    if (turn.outcome.reason == FinishReason::kInterrupted) say("(stopped)");
    if (turn.outcome.reason == FinishReason::kLength)
      say("(cut off: the limit of new tokens or of the context is reached)");
    if (turn.outcome.error) return *turn.outcome.error;
    return ok_status();
  }

  static EngineOptions options(const Flags& flags, const CostCache& costs) {
    EngineOptions out = engine_options(flags.machine);
    out.costs = costs.load();
    return out;
  }

  // Once, when the rounds of all turns tell.
  void warn_of_pair(const DraftStats& turn) {
    drafted_.rounds += turn.rounds;
    drafted_.accepted += turn.accepted;
    const auto warning =
        unlikely_pair_warning(assembly_.model_name(), assembly_.draft_model_name(), drafted_);
    if (!warning || flags_.quiet || std::exchange(warned_of_pair_, true)) return;
    warn(*warning);
  }

  // Puts the answer into the conversation as the template expects it back.
  void remember(const Answer& answer) {
    Json message = {{"role", "assistant"}, {"content", answer.text}};
    if (answer.reasoning) message["reasoning_content"] = *answer.reasoning;
    print_tool_calls(answer, out_);
    Json calls = Json::parse(answer.tool_calls_json);
    if (!calls.empty()) message["tool_calls"] = std::move(calls);
    add(message);
  }

  const Assembly& assembly_;
  const Flags& flags_;
  DraftWidth width_;
  const Inputs& inputs_;
  Terminal out_;
  Progress progress_;
  CostCache costs_;
  Engine engine_;
  std::optional<std::string> system_;
  std::optional<bool> think_;
  std::vector<std::string> messages_;  // JSON text: what came from a file stays as it was spelled
  std::unique_ptr<Conversation> conversation_;
  std::string stats_;
  DraftStats drafted_;  // of all turns
  bool warned_of_pair_ = false;
  ExitCode first_failure_ = kOk;
};

int run(const Flags& flags) {
  auto inputs = read_inputs(flags);
  if (!inputs.ok()) return fail(inputs.error());
  auto loaded = load(assemble_options(flags.model, flags.machine), flags.quiet);
  if (!loaded.ok()) return fail(loaded.error());
  const Assembly& assembly = *loaded.value();
  if (assembly.chat_template() == nullptr)
    return fail({ErrorCode::kUnsupported,
                 assembly.model_name() + ": expected a chat template, found none",
                 "use spindrift generate --raw"});
  auto width = draft_width(flags.model, assembly.drafter(), flags.quiet);
  if (!width.ok()) return fail(width.error());
  Chat chat(assembly, flags, width.value(), inputs.value());
  const InterruptScope scope;
  LineReader lines;
  if (!flags.quiet && lines.interactive())
    std::fputs("/help lists what can be typed besides questions; Ctrl-D leaves\n", stderr);
  while (const auto text = lines.next("> ")) {
    if (!chat.line(*text)) break;
  }
  return chat.end(inputs.value(), lines.interactive());
}

}  // namespace

Run add_chat(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  add_draft_flags(app, flags->model);
  app.add_option("--system", flags->system, "System text")->group("Prompt");
  app.add_option("--messages", flags->messages, "A conversation to continue, as /save writes it")
      ->type_name("FILE")
      ->group("Prompt");
  app.add_option("--tools", flags->tools, "Tools: JSON array as in OpenAI's API")
      ->type_name("FILE")
      ->group("Prompt");
  add_think_flags(app, flags->think);
  add_sampling_flags(app, flags->sampling);
  add_machine_flags(app, flags->machine);
  add_color_flag(app, flags->color);
  add_record_flags(app, flags->records);
  app.add_flag("--quiet", flags->quiet, "No progress or warnings")->group("Output");
  app.footer(std::string("At the prompt:\n") + kHelp +
             "\nExample:\n  spindrift chat -m MODEL --draft-model DRAFTER");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
