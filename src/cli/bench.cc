#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "app/cost_cache.h"
#include "app/machine.h"
#include "app/prompt.h"
#include "bench/draft_bench.h"
#include "bench/forward_bench.h"
#include "bench/load_bench.h"
#include "bench/pair_bench.h"
#include "bench/roofline.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/loading.h"
#include "cli/options.h"
#include "cli/output_files.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "core/plural.h"
#include "core/thread_pool.h"
#include "kernels/registry.h"

namespace spindrift::cli {
namespace {

using bench::MachineFacts;
using bench::Point;
using bench::Roofline;

struct Flags {
  std::string mode;
  ModelFlags model;
  MachineFlags machine;
  std::vector<int64_t> contexts, rows;
  std::vector<int> accept_pattern;
  std::vector<std::string> prompt_ids;
  std::string prompt_file, csv;
  std::optional<int64_t> new_tokens;
  std::optional<int> repeat;
  bool ignore_eos = false, json = false;
};

constexpr int kProbePasses = 8;  // of the machine's limits, at least

constexpr const char* kPrompts[] = {
    "Write a Python function that merges two sorted lists into one sorted list.",
    "Write a C++ class for a fixed-size ring buffer with push, pop and size, and a test for it.",
    ("Explain what this does and fix the bug:\n\ndef mean(xs):\n    total = 0\n    for x in xs:\n"
     "        total += x\n        return total / len(xs)\n"),
};

// The figures of one mode and what they were made with.
struct Report {
  MachineFacts machine;
  std::vector<Point> points;
};

MachineFacts facts(const Machine& machine, std::string_view isa, const Exec& ex,
                   const Roofline& roofline) {
  return {.cpu = machine.cpu,
          .isa = std::string(isa),
          .threads = thread_count(ex),
          .read_gb_s = roofline.read_gb_s,
          .fma_gflop_s = roofline.fma_gflop_s};
}

// 1, 2, 4, ... and `most`.
std::vector<int64_t> doubling(int64_t most) {
  std::vector<int64_t> out;
  for (int64_t n = 1; n < most; n *= 2) out.push_back(n);
  if (most > 0) out.push_back(most);
  return out;
}

// The roofline of every number of threads; with one pool a number, in turn.
Result<Report> run_roofline(const Flags& flags) {
  SPINDRIFT_TRY(const Machine machine, describe_machine());
  SPINDRIFT_TRY(const kernels::Isa isa, kernels::default_isa());
  const int most = flags.machine.threads > 0 ? flags.machine.threads : machine.threads;
  Report report;
  for (const int64_t threads : doubling(most)) {
    ThreadPool pool(static_cast<int>(threads));
    const Exec ex{.pool = &pool, .kernels = &kernels::table(isa)};
    SPINDRIFT_TRY(auto probe, bench::RooflineProbe::open(ex));
    std::vector<double> read, fma;
    for (int pass = 0; pass < flags.repeat.value_or(3); ++pass) {
      const Roofline roofline = probe.passes(kProbePasses);
      read.push_back(roofline.read_gb_s);
      fma.push_back(roofline.fma_gflop_s);
    }
    const bench::Spread reads = bench::spread(read), peaks = bench::spread(fma);
    report.points.push_back({{"threads", threads},
                             {"read_gb_s", reads.max},
                             {"read_min", reads.min},
                             {"fma_gflop_s", peaks.max},
                             {"fma_min", peaks.min}});
    report.machine = facts(machine, kernels::table(isa).name, ex,
                           {.read_gb_s = reads.max, .fma_gflop_s = peaks.max});
  }
  return report;
}

Result<std::vector<std::vector<TokenId>>> prompts(const Flags& flags, const Assembly& assembly) {
  std::vector<std::vector<TokenId>> out;
  for (const std::string& list : flags.prompt_ids) {
    SPINDRIFT_TRY(out.emplace_back(), parse_ids(list, assembly.target().info().vocab));
  }
  if (!flags.prompt_file.empty()) {
    SPINDRIFT_TRY(const std::string text, read_prompt(flags.prompt_file));
    SPINDRIFT_TRY(Prompt prompt, user_prompt(assembly, text));
    out.push_back(std::move(prompt.ids));
  }
  if (!out.empty()) return out;
  for (const char* question : kPrompts) {
    SPINDRIFT_TRY(Prompt prompt, user_prompt(assembly, question));
    out.push_back(std::move(prompt.ids));
  }
  return out;
}

Result<std::vector<Point>> run_pair(const Flags& flags, const Assembly& assembly,
                                    Progress& progress) {
  const Drafter* drafter = assembly.drafter();
  if (drafter == nullptr && flags.accept_pattern.empty())
    return Error{ErrorCode::kUsage, "bench pair: expected --draft-model or --accept-pattern"};
  bench::PairOptions options;
  SPINDRIFT_TRY(options.prompts, prompts(flags, assembly));
  options.new_tokens = flags.new_tokens.value_or(128);
  options.ignore_eos = flags.ignore_eos;
  options.repeat = flags.repeat.value_or(10);
  options.accept_pattern = flags.accept_pattern;
  options.engine = engine_options(flags.machine);
  options.engine.costs = CostCache(assembly).load();
  options.widths = flags.rows;
  if (options.widths.empty()) {
    const auto& pattern = flags.accept_pattern;
    options.widths =
        doubling(drafter != nullptr ? drafter->max_depth()
                                    : *std::max_element(pattern.begin(), pattern.end()));
  }
  return bench::bench_pair(assembly, options, [&](std::string_view what) { progress.show(what); });
}

// The modes that time forwards of a loaded model.
Result<std::vector<Point>> run_forwards(const Flags& flags, const Assembly& assembly,
                                        bench::RooflineProbe& probe) {
  const bench::Subject subject{.target = &assembly.target(),
                               .exec = assembly.exec(),
                               .prefill_chunk = flags.machine.prefill_chunk};
  bench::Schedule schedule{
      .contexts = flags.contexts, .rows = flags.rows, .between = [&probe] { probe.pass(); }};
  const Roofline& roofline = probe.best();
  const auto defaults = [](std::vector<int64_t>& values, std::vector<int64_t> otherwise) {
    if (values.empty()) values = std::move(otherwise);
  };
  schedule.repeat = flags.repeat.value_or(flags.mode == "prefill" ? 5 : 11);
  const Position most = assembly.target().info().max_context;
  if (flags.mode == "decode") {
    defaults(schedule.contexts, {128, 1024, 4096});
    if (flags.contexts.empty())
      std::erase_if(schedule.contexts, [most](int64_t c) { return c >= most; });
  } else {
    defaults(schedule.contexts, {flags.mode == "prefill" ? 0 : 128});
  }
  if (flags.mode == "width") defaults(schedule.rows, {1, 2, 3, 4, 6, 8, 12, 16, 24, 32});
  if (flags.mode == "prefill") defaults(schedule.rows, {128, 512});
  if (flags.mode == "draft") {
    if (assembly.drafter() == nullptr)
      return Error{ErrorCode::kUsage, "bench draft: expected --draft-model"};
    defaults(schedule.rows, doubling(assembly.drafter()->max_nodes()));
  }
  const int64_t rows =
      schedule.rows.empty() ? 1 : *std::max_element(schedule.rows.begin(), schedule.rows.end());
  const int64_t context = schedule.contexts.empty() ? 0
                                                    : *std::max_element(schedule.contexts.begin(),
                                                                        schedule.contexts.end());
  if (context + rows > most)
    return Error{ErrorCode::kLimit,
                 fmt::format("bench {}: expected at most {} tokens of context and rows, found {}",
                             flags.mode, most, context + rows)};
  if (flags.mode == "width") return bench::bench_width(subject, schedule, roofline);
  if (flags.mode == "prefill") return bench::bench_prefill(subject, schedule, roofline);
  if (flags.mode == "decode") return bench::bench_decode(subject, schedule, roofline);
  return bench::bench_draft(subject, *assembly.drafter(), schedule, roofline);
}

Result<Report> run_with_model(const Flags& flags) {
  if (flags.model.model.empty())
    return Error{ErrorCode::kUsage, fmt::format("bench {}: expected --model", flags.mode)};
  SPINDRIFT_TRY(const Machine machine, describe_machine());
  const AssembleOptions options = assemble_options(flags.model, flags.machine);
  Report report;
  if (flags.mode == "load") {  // before this process starts threads
    Progress progress(/*quiet=*/true);
    SPINDRIFT_TRY(report.points,
                  bench::bench_load(options, flags.repeat.value_or(5), [](std::string_view) {}));
  }
  SPINDRIFT_TRY(const auto assembly, load(options, /*quiet=*/false));
  const auto weights = assembly->weight_files();
  SPINDRIFT_TRY(auto probe, bench::RooflineProbe::open(assembly->exec(), weights));
  probe.passes(kProbePasses);
  Progress progress(/*quiet=*/false);
  progress.show(fmt::format("bench {}", flags.mode));
  if (flags.mode == "pair") {
    SPINDRIFT_TRY(report.points, run_pair(flags, *assembly, progress));
  } else if (flags.mode != "load") {
    SPINDRIFT_TRY(report.points, run_forwards(flags, *assembly, probe));
  }
  report.machine = facts(machine, assembly->isa(), assembly->exec(), probe.best());
  return report;
}

int run(const Flags& flags) {
  auto csv = OutputFile::open(flags.csv);
  if (!csv.ok()) return fail(csv.error());
  auto report = flags.mode == "roofline" ? run_roofline(flags) : run_with_model(flags);
  if (!report.ok()) return fail(report.error());
  const MachineFacts& machine = report.value().machine;
  const std::vector<Point>& points = report.value().points;
  if (csv.value().get() != nullptr) std::fputs(bench::to_csv(points).c_str(), csv.value().get());
  if (const ExitCode code = csv.value().finish(); code != kOk) return code;
  Terminal out(ColorMode::kNever);
  if (flags.json) {
    out.write(bench::to_json(flags.mode, machine, flags.model.model, points));
    out.end_line();
    return written(out);
  }
  out.write(fmt::format("{}, {}, {}: reads {:.1f} GB/s, {:.1f} GFLOP/s of multiply-adds\n",
                        machine.cpu, machine.isa, counted(machine.threads, "thread"),
                        machine.read_gb_s, machine.fma_gflop_s));
  out.write(bench::to_table(points));
  return written(out);
}

}  // namespace

Run add_bench(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  app.add_option("mode", flags->mode, "roofline, width, prefill, decode, draft, load or pair")
      ->required()
      ->check(CLI::IsMember({"roofline", "width", "prefill", "decode", "draft", "load", "pair"}));
  add_model_flag(app, flags->model);
  app.get_option("--model")->required(false);
  add_draft_flags(app, flags->model);
  app.remove_option(app.get_option("--draft-tokens"));
  const auto add = [&app](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->group("Bench");
  };
  add("--context", flags->contexts, "Tokens read before (default: 128; prefill 0)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30));
  add("--rows", flags->rows,
      "Rows of a forward; prompt tokens (prefill); draft tokens (draft, pair)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  add("-n,--max-tokens", flags->new_tokens, "pair: new tokens a prompt (default 128)")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 30));
  add("--repeat", flags->repeat, "Repetitions; all points take turns in each")
      ->check(CLI::Range(1, 100'000));
  add("--prompt-file", flags->prompt_file, "pair: file with the user's text")->type_name("FILE");
  add("--prompt-ids", flags->prompt_ids, "pair: token ids, \"2,31,7\" or @FILE; several times")
      ->allow_extra_args(false);
  add("--accept-pattern", flags->accept_pattern,
      "pair: draft tokens that hit in each round, in turn")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(0, 1 << 16));
  app.add_flag("--ignore-eos", flags->ignore_eos, "pair: stop ids do not stop")->group("Bench");
  add_machine_flags(app, flags->machine);
  app.add_flag("--json", flags->json, "One JSON object")->group("Output");
  add("--csv", flags->csv, "Write the points as CSV too")->type_name("FILE")->group("Output");
  app.footer(
      "Times are medians over the repetitions, min and max beside them. bytes: weights read, each\n"
      "chosen expert once, and committed keys and values. floor_ms: bytes / read bandwidth;\n"
      "compute_floor_ms: flop / multiply-add peak; both are measured in the same run.\n"
      "docs/performance.md defines every figure.\n"
      "Examples:\n"
      "  spindrift bench width -m MODEL --context 128\n"
      "  spindrift bench pair -m MODEL --draft-model DRAFTER --csv pair.csv");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
