#include "app/verify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/prompt.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/loading.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "core/plural.h"

namespace spindrift::cli {
namespace {

struct Flags {
  ModelFlags model;
  MachineFlags machine;
  bool quick = false;
};

constexpr const char* kQuestions[] = {
    "Write a Python function that reverses a list.",
    "Explain, step by step, how a hash table resolves collisions, and then write one in Python "
    "with "
    "open addressing, deletion and resizing, with tests for each of them.",
};

// Rendered as chats where the model has a template, else as plain text.
Result<std::vector<std::vector<TokenId>>> prompts(const Assembly& assembly, bool quick) {
  std::vector<std::vector<TokenId>> out;
  for (const char* question : kQuestions) {
    if (quick && !out.empty()) break;
    SPINDRIFT_TRY(Prompt prompt, user_prompt(assembly, question));
    out.push_back(std::move(prompt.ids));
  }
  return out;
}

int run(const Flags& flags) {
  auto assembly = load(assemble_options(flags.model, flags.machine), /*quiet=*/false);
  if (!assembly.ok()) return fail(assembly.error());
  VerifyOptions options;
  options.quick = flags.quick;
  if (flags.quick) options.new_tokens = 24;
  auto ids = prompts(*assembly.value(), flags.quick);
  if (!ids.ok()) return fail(ids.error());
  options.prompts = std::move(ids).value();

  Progress progress(/*quiet=*/false);
  auto rows =
      verify(*assembly.value(), options, [&](std::string_view setting) { progress.show(setting); });
  progress.clear();
  if (!rows.ok()) return fail(rows.error());

  Terminal out(ColorMode::kNever);
  int runs = 0, different = 0;
  out.write(fmt::format("{:<40} {:>5} {:>10} {:>14}\n", "compared with plain decoding", "runs",
                        "different", "mean accepted"));
  for (const VerifyRow& row : rows.value()) {
    runs += row.runs;
    different += row.different;
    out.write(fmt::format("{:<40} {:>5} {:>10} {:>14.2f}{}\n", row.setting, row.runs, row.different,
                          row.mean_accepted,
                          row.different > 0 ? "  first: " + row.first_difference : ""));
  }
  out.write(different == 0
                ? fmt::format("{}, every ledger equal: same tokens from the same logits, bit "
                              "for bit\n",
                              counted(runs, "run"))
                : fmt::format("{} of {} differ\n", different, counted(runs, "run")));
  return different == 0 ? written(out) : kCheckFailed;
}

}  // namespace

Run add_verify(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  add_drafter_flags(app, flags->model);
  add_load_flags(app, flags->machine);
  app.add_flag("--quick", flags->quick, "Fewer settings and shorter runs");
  app.footer(
      "Runs the target alone, then with every draft width, temperature, thread count, prefill "
      "chunk "
      "and\n"
      "instruction set, and compares ledgers. Exit code 4 on any difference.\n\n"
      "Example:\n  spindrift verify -m MODEL --draft-model DRAFTER --quick");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
