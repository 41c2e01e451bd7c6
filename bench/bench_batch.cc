// Several conversations in one engine against plain decoding of the same ones: what drafting
// together brings. Flags: --help.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "app/assemble.h"
#include "app/cost_cache.h"
#include "app/machine.h"
#include "bench/point.h"
#include "bench/roofline.h"
#include "core/thread_pool.h"
#include "drafters/scripted.h"
#include "engine/engine.h"

namespace spindrift::bench {
namespace {

constexpr int kProbePasses = 3;

struct Options {
  AssembleOptions assemble;
  std::vector<int> requests{1, 2, 4, 8};
  std::vector<int> pattern;
  int64_t prompt = 64, tokens = 64;
  int repeat = 5;
  bool json = false;
};

class Recorder final : public RequestListener {
 public:
  void on_token(const TokenEvent&) override { ++tokens; }
  void on_finish(Outcome outcome) override { done = std::move(outcome); }
  int64_t tokens = 0;
  std::optional<Outcome> done;
};

struct Run {
  double rate = 0;  // tokens a second of all, once every prompt was read
  DraftStats drafts;
  std::vector<std::vector<TokenId>> answers;
};

class BatchBench {
 public:
  BatchBench(const Assembly& assembly, const Options& options)
      : assembly_(assembly), options_(options), costs_(CostCache(assembly).load()) {
    std::mt19937 random(1);
    std::uniform_int_distribution<TokenId> id(100, static_cast<TokenId>(vocab()) - 1);
    const int most = *std::max_element(options.requests.begin(), options.requests.end());
    for (int i = 0; i < most; ++i) {
      prompts_.emplace_back();
      for (int64_t k = 0; k < options.prompt; ++k) prompts_.back().push_back(id(random));
    }
  }

  std::vector<Point> points() {
    drafter_ = assembly_.drafter();
    follow_pattern();
    std::vector<Point> out;
    for (const int count : options_.requests) {
      // One engine for all, as a server has: what it learns of drafts it keeps.
      Engine engine(assembly_.target(), drafter_, assembly_.exec(), {.costs = costs_});
      std::vector<double> plain, rates, ratios;
      DraftStats drafts;
      for (int i = 0; i < options_.repeat; ++i) {
        plain.push_back(run(engine, count, DraftWidth::Mode::kOff).rate);
        const Run drafted = run(engine, count, DraftWidth::Mode::kAuto);
        rates.push_back(drafted.rate);
        ratios.push_back(drafted.rate / plain.back());
        drafts.rounds += drafted.drafts.rounds;
        drafts.plain_rounds += drafted.drafts.plain_rounds;
        drafts.accepted += drafted.drafts.accepted;
        drafts.drafted += drafted.drafts.drafted;
      }
      costs_ = engine.costs();
      const Spread ratio = spread(ratios);
      Point point{{"requests", int64_t{count}}, {"plain_tokens_per_s", spread(plain).median}};
      add_spread(point, "tokens_per_s", spread(rates));
      for (const Field& field :
           {Field{"ratio_to_plain", ratio.median}, Field{"ratio_min", ratio.min},
            Field{"ratio_max", ratio.max},
            Field{"drafted_share",
                  DraftStats::share(drafts.rounds, drafts.rounds + drafts.plain_rounds)},
            Field{"mean_drafted", DraftStats::share(drafts.drafted, drafts.rounds)},
            Field{"mean_accepted", drafts.mean_accepted()}})
        point.push_back(field);
      out.push_back(point);
    }
    CostCache(assembly_).save(costs_);
    return out;
  }

 private:
  int64_t vocab() const { return assembly_.target().info().vocab; }

  // Replaces what the drafter proposes by tokens that hit as often as asked; it still runs.
  void follow_pattern() {
    if (options_.pattern.empty()) return;
    Engine engine(assembly_.target(), nullptr, assembly_.exec(), {});
    const Run plain = run(engine, static_cast<int>(prompts_.size()), DraftWidth::Mode::kOff);
    std::vector<ReferenceIds> references = prompts_;
    for (size_t i = 0; i < references.size(); ++i)
      references[i].insert(references[i].end(), plain.answers[i].begin(), plain.answers[i].end());
    std::vector<ScriptedRound> rounds;
    for (const int hits : options_.pattern)
      rounds.push_back(scripted_chain(hits, drafter_->max_depth()));
    scripted_.emplace(vocab(), std::move(references), std::move(rounds), drafter_);
    drafter_ = &*scripted_;
  }

  Run run(Engine& engine, int count, DraftWidth::Mode mode) const {
    std::vector<Recorder> heard(static_cast<size_t>(count));
    for (size_t i = 0; i < heard.size(); ++i) {
      Request request;
      request.prompt = prompts_[i];
      request.stop.ignore_eos = true;
      request.stop.max_new_tokens = options_.tokens;
      request.draft.mode = mode;
      request.listener = &heard[i];
      engine.add(std::move(request));
    }
    const auto tokens = [&] {
      int64_t sum = 0;
      for (const Recorder& recorder : heard) sum += recorder.tokens;
      return sum;
    };
    const auto all_read = [&] {
      return std::all_of(heard.begin(), heard.end(),
                         [](const Recorder& r) { return r.tokens > 0; });
    };
    while (!all_read()) engine.step();
    const int64_t before = tokens();
    const auto start = std::chrono::steady_clock::now();
    while (engine.pending() > 0) engine.step();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    Run out{.rate = static_cast<double>(tokens() - before) / seconds.count(),
            .drafts = {},
            .answers = {}};
    for (Recorder& recorder : heard) {
      const DraftStats& drafts = recorder.done->stats.draft;
      out.drafts.rounds += drafts.rounds;
      out.drafts.plain_rounds += drafts.plain_rounds;
      out.drafts.accepted += drafts.accepted;
      out.drafts.drafted += drafts.drafted;
      out.answers.push_back(std::move(recorder.done->tokens));
    }
    return out;
  }

  const Assembly& assembly_;
  const Options& options_;
  RoundCosts costs_;
  std::vector<ReferenceIds> prompts_;
  const Drafter* drafter_ = nullptr;
  std::optional<ScriptedDrafter> scripted_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Tokens per second of several conversations at once, drafted against plain, interleaved");
  app.add_option("-m,--model", options.assemble.model, "Target")->required();
  app.add_option("--draft-model", options.assemble.draft_model, "Drafter")->required();
  app.add_option("--requests", options.requests, "Conversations at once")->delimiter(',');
  app.add_option("--accept-pattern", options.pattern,
                 "Draft tokens that hit in each round, in turn")
      ->delimiter(',');
  app.add_option("--prompt", options.prompt, "Tokens of each prompt, random");
  app.add_option("-n", options.tokens, "Tokens of each answer");
  app.add_option("--repeat", options.repeat, "Repetitions of plain and drafted in turn");
  app.add_flag("--json", options.json, "One JSON object");
  CLI11_PARSE(app, argc, argv);
  options.assemble.text = TextPart::kNone;
  const auto assembly = assemble(options.assemble);
  if (!assembly.ok()) {
    std::fprintf(stderr, "%s\n", assembly.error().message.c_str());
    return 1;
  }
  const auto machine = describe_machine();
  auto probe = RooflineProbe::open(assembly.value()->exec());
  if (!machine.ok() || !probe.ok()) {
    std::fprintf(stderr, "%s\n", (machine.ok() ? probe.error() : machine.error()).message.c_str());
    return 1;
  }
  const std::vector<Point> points = BatchBench(*assembly.value(), options).points();
  const Roofline roofline = probe.value().passes(kProbePasses);
  const MachineFacts facts{.cpu = machine.value().cpu,
                           .isa = std::string(assembly.value()->isa()),
                           .threads = thread_count(assembly.value()->exec()),
                           .read_gb_s = roofline.read_gb_s,
                           .fma_gflop_s = roofline.fma_gflop_s};
  const std::string text = options.json
                               ? to_json("batch", facts, options.assemble.model, points) + "\n"
                               : to_table(points);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace spindrift::bench

int main(int argc, char** argv) { return spindrift::bench::run(argc, argv); }
