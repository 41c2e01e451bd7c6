#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/machine.h"
#include "bench/roofline.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "core/build_info.h"
#include "core/thread_pool.h"
#include "kernels/registry.h"

namespace spindrift::cli {
namespace {

struct Flags {
  bool json = false;
  bool measure = false;
};

Result<double> measured(const Machine& machine) {
  SPINDRIFT_TRY(const kernels::Isa isa, kernels::default_isa());
  ThreadPool pool(machine.threads);
  SPINDRIFT_TRY(auto probe,
                bench::RooflineProbe::open({.pool = &pool, .kernels = &kernels::table(isa)}));
  return probe.passes(8).read_gb_s;
}

int run(const Flags& flags) {
  auto machine = describe_machine();
  if (!machine.ok()) return fail(machine.error());
  const Machine& m = machine.value();
  const BuildInfo build = build_info();
  nlohmann::ordered_json json = {{"version", build.version},
                                 {"commit", build.commit},
                                 {"compiler", build.compiler},
                                 {"build_flags", build.flags},
                                 {"cpu", m.cpu},
                                 {"usable_isas", m.usable_isas},
                                 {"isa", m.isa},
                                 {"threads", m.threads},
                                 {"memory_bytes", m.memory_bytes}};
  if (flags.measure) {
    auto read_gb_s = measured(m);
    if (!read_gb_s.ok()) return fail(read_gb_s.error());
    json["read_gb_s"] = read_gb_s.value();
  }
  Terminal out(ColorMode::kNever);
  if (flags.json) {
    out.write(json.dump(2));
    out.end_line();
    return written(out);
  }
  std::string isas;
  for (const std::string& isa : m.usable_isas) isas += (isas.empty() ? "" : " ") + isa;
  out.write(fmt::format("spindrift {} ({})\n", build.version, build.commit));
  out.write(fmt::format("compiler    {}, {}\n", build.compiler, build.flags));
  out.write(fmt::format("processor   {}\n", m.cpu));
  out.write(fmt::format("kernels     {} (usable here: {})\n", m.isa, isas));
  out.write(fmt::format("threads     {}\n", m.threads));
  out.write(
      fmt::format("memory      {:.1f} GiB\n", static_cast<double>(m.memory_bytes) / (1 << 30)));
  if (flags.measure)
    out.write(fmt::format("read speed  {:.1f} GB/s\n", json["read_gb_s"].get<double>()));
  return written(out);
}

}  // namespace

Run add_info(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_flag("--json", flags->json, "One JSON object");
  app.add_flag("--measure", flags->measure, "Measure the memory's read bandwidth too");
  app.footer("Example:\n  spindrift info --measure");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
