#include "synth/synth.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "app/machine.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "core/plural.h"
#include "core/thread_pool.h"
#include "synth/shapes.h"

namespace spindrift::cli {
namespace {

struct Flags {
  synth::SynthOptions options;
  std::string out;
};

int run(const Flags& flags) {
  const auto machine = describe_machine();
  if (!machine.ok()) return fail(machine.error());
  ThreadPool pool(machine.value().threads);
  const auto begin = std::chrono::steady_clock::now();
  const auto report = synth::synthesize(flags.options, flags.out, {&pool, nullptr});
  if (!report.ok()) return fail(report.error());
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  fmt::print(stderr, "{}: {}, {:.2f} GB{}, {:.1f} s\n", flags.out,
             counted(report.value().tensors, "tensor"),
             static_cast<double>(report.value().bytes) / 1e9,
             flags.options.sparse ? " of holes" : "", spent.count());
  return kOk;
}

std::string list_of_shapes() {
  std::string text = "Shapes:\n";
  for (const synth::Shape& shape : synth::shapes())
    text += fmt::format("  {:<27} {}\n", shape.name, shape.about);
  return text;
}

}  // namespace

Run add_synth(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("--shape", flags->options.shape, "Name of a shape, see below")->required();
  app.add_option("--layers", flags->options.layers,
                 "Only the first N layers; for a drafter, the layers of its target");
  app.add_option("--out", flags->out, "Folder to make")->required();
  app.add_option("--seed", flags->options.seed, "Seed of the weights; 0 when not given");
  app.add_flag("--sparse", flags->options.sparse,
               "True headers, vectors and scalars; matrices stay holes that take no disk");
  app.footer(list_of_shapes() +
             "Example:\n  spindrift synth --shape xs-2.1-nvfp4 --layers 8 --out xs8\n"
             "  spindrift synth --shape xs-2.1-dflash --layers 8 --out xs8-dflash");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
