#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/mapped_faults.h"
#include "cli/terminal.h"
#include "core/build_info.h"

namespace spindrift::cli {
namespace {

struct Command {
  const char* name;
  const char* about;
  Run (*add)(CLI::App&);
};

constexpr Command kCommands[] = {
    {"generate", "Complete a prompt or answer a conversation, once", add_generate},
    {"chat", "A conversation at the terminal", add_chat},
    {"serve", "An OpenAI-compatible server, with a page to chat", add_serve},
    {"logits", "Teacher-forced logits of given token ids, as a NumPy file", add_logits},
    {"tokenize", "Text to token ids, or back", add_tokenize},
    {"template", "Render a conversation with the model's chat template", add_template},
    {"inspect", "What a model folder holds, and what it can pair with", add_inspect},
    {"list", "Every model and drafter in folders and the local cache", add_list},
    {"verify", "Prove on this machine that drafting changes nothing", add_verify},
    {"synth", "Random weights in a published shape and format", add_synth},
    {"bench", "Times of forwards, drafting and loading against what this machine allows",
     add_bench},
    {"info", "Version, processor, instruction sets, memory", add_info},
};

std::string version_line() {
  const BuildInfo build = build_info();
  return fmt::format("spindrift {} ({})", build.version, build.commit);
}

// The first argument when it is neither a flag nor a command, else null.
const char* unknown_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return nullptr;
  for (const Command& command : kCommands)
    if (std::string_view(argv[1]) == command.name) return nullptr;
  return argv[1];
}

int run(int argc, char** argv) {
  CLI::App app{
      "Runs Laguna, Granite, GPTBigCode and Llama models on the CPU. A drafter changes the speed, "
      "never a token"};
  app.name("spindrift");
  app.formatter(help_formatter());
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", version_line(), "Print version and commit");
  app.require_subcommand(1);
  Run chosen;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.about);
    const Run action = command.add(*sub);
    sub->callback([&chosen, action] { chosen = action; });
  }
  app.footer("spindrift COMMAND --help says more about each.");
  if (const char* name = unknown_command(argc, argv))
    return fail({ErrorCode::kUsage, fmt::format("expected a command, found `{}`", name),
                 "see spindrift --help"});
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    app.exit(asked);
    Terminal out(ColorMode::kNever);
    out.flush();
    return written(out);
  } catch (const CLI::ParseError& error) {
    std::string hint = "spindrift --help";
    if (!app.get_subcommands().empty())
      hint = fmt::format("spindrift {} --help", app.get_subcommands().front()->get_name());
    return fail({ErrorCode::kUsage, usage_message(app, error), "see " + hint});
  }
  return chosen();
}

// A standard stream that the caller closed stays closed to reading and writing, but its number is
// taken: a file opened later must not become standard output.
void occupy_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0) [[maybe_unused]]
      const int taken = open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace
}  // namespace spindrift::cli

int main(int argc, char** argv) {
  using namespace spindrift::cli;
  // A reader that goes away (`| head`) is an error of write(), not the end of the process.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // so is a limit on the size of files
  occupy_standard_streams();
  exit_on_interrupt();
  explain_mapped_faults();
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("spindrift: error: out of memory\n", stderr);
    return kLimit;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "spindrift: error: %s\n", error.what());
    return kOther;
  }
}
