#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/assemble.h"
#include "app/prompt.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/terminal.h"

namespace spindrift::cli {
namespace {

struct Flags {
  ModelFlags model;
  ThinkFlags think;
  std::string messages, tools;
  std::vector<std::string> variables;
  bool no_generation_prompt = false;
};

Result<ChatRequest> request_of(const Flags& flags, const TextParts& parts) {
  ChatRequest out;
  SPINDRIFT_TRY(out.messages, read_text(flags.messages));
  SPINDRIFT_TRY(out.tools, read_tools(flags.tools));
  out.add_generation_prompt = !flags.no_generation_prompt;
  out.enable_thinking = flags.think.value();
  if (!out.enable_thinking) out.enable_thinking = parts.defaults.enable_thinking;
  for (const std::string& text : flags.variables) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return Error{ErrorCode::kUsage, fmt::format("--set: expected NAME=JSON, found `{}`", text)};
    out.variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  out.special_tokens = template_tokens(parts.special_tokens);
  return out;
}

int run(const Flags& flags) {
  auto parts = load_text_parts(flags.model.model, TextPart::kTemplate);
  if (!parts.ok()) return fail(parts.error());
  if (parts.value().chat_template == nullptr)
    return fail(
        {ErrorCode::kNotFound, parts.value().folder + ": expected a chat template, found none"});
  auto request = request_of(flags, parts.value());
  if (!request.ok()) return fail(request.error());
  auto text = parts.value().chat_template->render(request.value());
  if (!text.ok()) return fail(name_files(text.error(), flags.messages, flags.tools));
  Terminal out(ColorMode::kNever);
  out.write(text.value());
  return written(out);
}

}  // namespace

Run add_template(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  app.add_option("--messages", flags->messages, "JSON array of messages; - reads standard input")
      ->required()
      ->type_name("FILE");
  app.add_option("--tools", flags->tools, "JSON array of tools")->type_name("FILE");
  add_think_flags(app, flags->think);
  app.add_flag("--no-generation-prompt", flags->no_generation_prompt, "End after the last message");
  app.add_option("--set", flags->variables, "Another template variable: NAME=JSON")
      ->type_name("NAME=JSON")
      ->allow_extra_args(false);
  app.footer("Example:\n  spindrift template -m MODEL --messages conversation.json --think");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
