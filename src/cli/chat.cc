#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/prompt.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/loading.h"
#include "cli/options.h"
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
  std::string tools;
  ColorMode color = ColorMode::kAuto;
  bool quiet = false;
};

constexpr const char* kHelp =
    "/reset            forget the conversation\n"
    "/system [TEXT]    set the system text (and forget the conversation), or clear it\n"
    "/think [on|off]   ask for reasoning, or for none; alone: the model's default\n"
    "/stats            figures of the last answer\n"
    "/save FILE        write the conversation as JSON (generate --messages reads it)\n"
    "/quit             leave (Ctrl-D too); Ctrl-C stops an answer\n";

class Chat {
 public:
  Chat(const Assembly& assembly, const Flags& flags, DraftWidth width, std::string tools)
      : assembly_(assembly),
        flags_(flags),
        width_(width),
        tools_(std::move(tools)),
        out_(flags.color),
        progress_(flags.quiet),
        engine_(assembly.target(), assembly.drafter(), assembly.exec(),
                engine_options(flags.machine)),
        system_(flags.system),
        think_(flags.think.value()) {
    reset();
  }

  // False when the conversation is over.
  bool line(const std::string& text) {
    if (text.empty()) return out_.ok();
    if (text.front() == '/') return command(text);
    answer(text);
    return out_.ok();
  }

 private:
  void reset() {
    messages_ = Json::array();
    if (system_) messages_.push_back({{"role", "system"}, {"content", *system_}});
    conversation_.reset();
  }

  bool command(const std::string& text) {
    const size_t space = text.find(' ');
    const std::string name = text.substr(0, space);
    const std::string rest = space == std::string::npos ? "" : text.substr(space + 1);
    if (name == "/quit" || name == "/exit") return false;
    if (name == "/reset") {
      reset();
    } else if (name == "/system") {
      system_ = rest.empty() ? std::nullopt : std::optional(rest);
      reset();
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
    file << messages_.dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
    file.flush();
    say(file ? "saved to " + path : path + ": expected a file that can be written");
  }

  void answer(const std::string& text) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    if (const Status done = try_answer(); !done.ok()) {
      fail(done.error());
      messages_.erase(messages_.size() - 1);  // the question that was not answered
    }
  }

  Status try_answer() {
    SPINDRIFT_TRY(const Prompt prompt, chat_prompt(assembly_, {.messages_json = messages_.dump(),
                                                               .tools_json = tools_,
                                                               .enable_thinking = think_}));
    Request request;
    request.sampling = sampling_params(flags_.sampling, assembly_.defaults());
    request.stop = stop_spec(flags_.sampling, assembly_.defaults());
    request.draft = width_;
    request.cancelled = &interrupted();
    request.conversation = std::move(conversation_);
    clear_interrupt();
    SPINDRIFT_TRY(Turn turn, run_turn(assembly_, engine_, std::move(request), prompt,
                                      {.terminal = &out_,
                                       .progress = &progress_,
                                       .show_reasoning = out_.interactive(),
                                       .tools_json = tools_}));
    clear_interrupt();
    conversation_ = std::move(turn.outcome.conversation);
    remember(turn.answer);
    out_.end_line();
    stats_ = report_text(turn.outcome.stats, assembly_.drafter() != nullptr);
    if (turn.outcome.reason == FinishReason::kInterrupted) say("(stopped)");
    if (turn.outcome.error) return *turn.outcome.error;
    return ok_status();
  }

  // Puts the answer into the conversation as the template expects it back.
  void remember(const Answer& answer) {
    Json message = {{"role", "assistant"}, {"content", answer.text}};
    if (answer.reasoning) message["reasoning_content"] = *answer.reasoning;
    Json calls = Json::parse(answer.tool_calls_json);
    for (const Json& call : calls) {
      out_.end_line();
      out_.write(call.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    }
    if (!calls.empty()) message["tool_calls"] = std::move(calls);
    messages_.push_back(std::move(message));
  }

  const Assembly& assembly_;
  const Flags& flags_;
  DraftWidth width_;
  std::string tools_;
  Terminal out_;
  Progress progress_;
  Engine engine_;
  std::optional<std::string> system_;
  std::optional<bool> think_;
  Json messages_;
  std::unique_ptr<Conversation> conversation_;
  std::string stats_;
};

int run(const Flags& flags) {
  auto loaded = load(assemble_options(flags.model, flags.machine), flags.quiet);
  if (!loaded.ok()) return fail(loaded.error());
  const Assembly& assembly = *loaded.value();
  if (assembly.chat_template() == nullptr)
    return fail({ErrorCode::kUnsupported,
                 assembly.model_name() + ": expected a chat template, found none",
                 "use spindrift generate --raw"});
  auto width = draft_width(flags.model.draft_tokens, assembly.drafter(), flags.quiet);
  if (!width.ok()) return fail(width.error());
  std::string tools;
  if (!flags.tools.empty()) {
    auto text = read_text(flags.tools);
    if (!text.ok()) return fail(text.error());
    tools = std::move(text).value();
  }
  Chat chat(assembly, flags, width.value(), std::move(tools));
  const InterruptScope scope;
  LineReader lines;
  while (const auto text = lines.next("> ")) {
    if (!chat.line(*text)) break;
  }
  return kOk;
}

}  // namespace

Run add_chat(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  add_draft_flags(app, flags->model);
  app.add_option("--system", flags->system, "System text");
  app.add_option("--tools", flags->tools, "Tools: JSON array as in OpenAI's API")
      ->type_name("FILE");
  add_think_flags(app, flags->think);
  add_sampling_flags(app, flags->sampling);
  add_machine_flags(app, flags->machine);
  add_color_flag(app, flags->color);
  app.add_flag("--quiet", flags->quiet, "No progress or warnings")->group("Output");
  app.footer(std::string("At the prompt:\n") + kHelp +
             "Example:\n  spindrift chat -m MODEL --draft-model DRAFTER");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
