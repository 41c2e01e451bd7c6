#include "bench/pair_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "app/cost_cache.h"
#include "bench/spread.h"
#include "drafters/scripted.h"

namespace spindrift::bench {
namespace {

// One way to decode, and how it went.
struct Way {
  DraftWidth width;
  std::vector<double> rates, ratios;
  int64_t generated = 0, rounds = 0, drafted_rounds = 0, accepted = 0;
  std::string decision;
};

class PairBench {
 public:
  PairBench(const Assembly& assembly, const PairOptions& options)
      : assembly_(assembly),
        options_(options),
        costs_(options.engine.costs),
        drafter_(assembly.drafter()) {}
  const RoundCosts& costs() const { return costs_; }

  // Plain runs tell what follows, and a scripted drafter proposes that as often as it is asked to.
  Status follow_pattern() {
    if (options_.accept_pattern.empty()) return ok_status();
    std::vector<ReferenceIds> references;
    for (const auto& prompt : options_.prompts) {
      SPINDRIFT_TRY(const Outcome plain, run(prompt, {.mode = DraftWidth::Mode::kOff}));
      references.push_back(prompt);
      references.back().insert(references.back().end(), plain.tokens.begin(), plain.tokens.end());
    }
    int length = drafter_ == nullptr ? 0 : drafter_->max_depth();
    if (drafter_ == nullptr)
      length = *std::max_element(options_.accept_pattern.begin(), options_.accept_pattern.end());
    std::vector<ScriptedRound> rounds;
    for (const int hits : options_.accept_pattern)
      rounds.push_back(scripted_chain(hits, std::max(length, 1)));
    scripted_.emplace(assembly_.target().info().vocab, std::move(references), std::move(rounds),
                      drafter_);
    drafter_ = &*scripted_;
    return ok_status();
  }

  std::vector<Way> ways() const {
    std::vector<Way> out(options_.widths.size() + 1);
    out.front().width.mode = DraftWidth::Mode::kOff;
    for (size_t i = 0; i < options_.widths.size(); ++i)
      out[i + 1].width = {.mode = DraftWidth::Mode::kFixed,
                          .tokens = static_cast<int>(options_.widths[i])};
    if (drafter_ != nullptr && drafter_->max_nodes() > drafter_->max_depth()) {
      out.emplace_back().width = {.mode = DraftWidth::Mode::kFixed,
                                  .tokens = drafter_->max_depth(),
                                  .nodes = drafter_->max_nodes()};
    }
    out.emplace_back();
    return out;
  }

  // All prompts once.
  Status pass(Way& way, double plain_rate) {
    double seconds = 0;
    int64_t tokens = 0;
    for (const auto& prompt : options_.prompts) {
      SPINDRIFT_TRY(const Outcome outcome, run(prompt, way.width));
      const GenerationStats& stats = outcome.stats;
      seconds += stats.decode_s;
      tokens += std::max<int64_t>(stats.generated_tokens - 1, 0);
      way.generated += stats.generated_tokens;
      way.drafted_rounds += stats.draft.rounds;
      way.rounds += stats.draft.rounds + stats.draft.plain_rounds;
      way.accepted += stats.draft.accepted;
      way.decision = stats.draft.decision;
    }
    const double rate = seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
    way.rates.push_back(rate);
    way.ratios.push_back(plain_rate > 0 ? rate / plain_rate : 1);
    return ok_status();
  }

 private:
  // Costs are carried on from run to run, as they are from process to process.
  Result<Outcome> run(const std::vector<TokenId>& prompt, const DraftWidth& width) {
    EngineOptions settings = options_.engine;
    settings.costs = costs_;
    Engine engine(assembly_.target(), drafter_, assembly_.exec(), settings);
    Request request;
    request.prompt = prompt;
    request.stop.ids = assembly_.defaults().stop_ids;
    request.stop.ignore_eos = options_.ignore_eos;
    request.stop.max_new_tokens = options_.new_tokens;
    request.draft = width;
    SPINDRIFT_TRY(Outcome outcome, engine.run(std::move(request)));
    if (outcome.error) return *outcome.error;
    costs_ = engine.costs();
    return outcome;
  }

  const Assembly& assembly_;
  const PairOptions& options_;
  RoundCosts costs_;
  const Drafter* drafter_;
  std::optional<ScriptedDrafter> scripted_;
};

Value name_of(const DraftWidth& width) {
  if (width.mode == DraftWidth::Mode::kFixed && width.nodes == 0) return int64_t{width.tokens};
  if (width.mode == DraftWidth::Mode::kFixed) return std::string("tree");
  return std::string(width.mode == DraftWidth::Mode::kOff ? "plain" : "auto");
}

Point point_of(const Way& way) {
  Point point;
  point.push_back({"draft_tokens", name_of(way.width)});
  add_spread(point, "tokens_per_s", spread(way.rates));
  const Spread ratio = spread(way.ratios);
  const Field rest[] = {{"ratio_to_plain", ratio.median},
                        {"ratio_min", ratio.min},
                        {"ratio_max", ratio.max},
                        {"mean_accepted", DraftStats::share(way.accepted, way.drafted_rounds)},
                        {"tokens_per_round", DraftStats::share(way.generated, way.rounds)},
                        {"drafted_share", DraftStats::share(way.drafted_rounds, way.rounds)},
                        {"decision", way.decision}};
  point.insert(point.end(), std::begin(rest), std::end(rest));
  return point;
}

}  // namespace

Result<std::vector<Point>> bench_pair(const Assembly& assembly, const PairOptions& options,
                                      const std::function<void(std::string_view)>& progress) {
  PairBench bench(assembly, options);
  progress("plain, to know what follows");
  SPINDRIFT_TRY_STATUS(bench.follow_pattern());
  std::vector<Way> ways = bench.ways();
  for (int pass = 0; pass < options.repeat; ++pass) {
    for (Way& way : ways) {
      progress(fmt::format("repetition {} of {}", pass + 1, options.repeat));
      const std::vector<double>& plain = ways.front().rates;
      SPINDRIFT_TRY_STATUS(bench.pass(way, &way == &ways.front() ? 0 : plain.back()));
    }
  }
  CostCache(assembly).save(bench.costs());
  std::vector<Point> points;
  for (const Way& way : ways) points.push_back(point_of(way));
  return points;
}

}  // namespace spindrift::bench
