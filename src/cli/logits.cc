#include "app/logits.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <numeric>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/loading.h"
#include "cli/options.h"

namespace spindrift::cli {
namespace {

struct Flags {
  ModelFlags model;
  MachineFlags machine;
  std::string ids, out;
};

int run(const Flags& flags) {
  AssembleOptions options = assemble_options(flags.model, flags.machine);
  options.text = TextPart::kNone;
  auto assembly = load(options, /*quiet=*/false);
  if (!assembly.ok()) return fail(assembly.error());
  const Assembly& parts = *assembly.value();
  auto ids = parse_ids(flags.ids, parts.target().info().vocab);
  if (!ids.ok()) return fail(ids.error());
  if (ids.value().empty())
    return fail({ErrorCode::kUsage, "--prompt-ids: expected at least one token id, found none"});
  const InterruptScope scope;
  const auto done = write_logits(parts.target(), parts.exec(), ids.value(),
                                 flags.machine.prefill_chunk, flags.out, interrupted());
  if (done.ok()) return done.value() ? kOk : kInterrupted;
  const ExitCode code = fail(done.error());
  return done.error().code == ErrorCode::kIo ? kOther : code;
}

}  // namespace

Run add_logits(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  app.add_option("--prompt-ids", flags->ids, "Token ids: \"2,31,7\" or @FILE")
      ->required()
      ->type_name("IDS");
  app.add_option("--out", flags->out, "NumPy file to write: float32 [tokens, vocabulary]")
      ->required()
      ->type_name("FILE");
  add_load_flags(app, flags->machine);
  add_prefill_flag(app, flags->machine);
  app.footer("Example:\n  spindrift logits -m MODEL --prompt-ids 2,97,414 --out logits.npy");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
