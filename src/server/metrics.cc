#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace spindrift::server {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;
using prometheus::Registry;

Family<Counter>& counters(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Counter& counter(Registry& registry, const char* name, const char* help) {
  return counters(registry, name, help).Add({});
}
Family<Histogram>& histograms(Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

// 1, 2.5, 5, 10 ... times `first`.
Histogram::BucketBoundaries decades(double first, int count) {
  Histogram::BucketBoundaries out;
  for (double decade = first; count > 0; decade *= 10)
    for (const double step : {1.0, 2.5, 5.0})
      if (count-- > 0) out.push_back(decade * step);
  return out;
}

// The engine's own figures, as metrics of the moment. Those that only grow are counters.
void add_snapshot(const EngineSnapshot& s, std::vector<prometheus::MetricFamily>& out) {
  struct Row {
    const char* name;
    const char* help;
    bool grows;
    double value;
  };
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const Row rows[] = {
      {"spindrift_queue_waiting", "Requests accepted and not running", false, number(s.waiting)},
      {"spindrift_running", "Requests in the batch", false, number(s.running)},
      {"spindrift_context_bytes", "Keys, values and draft context in memory", false,
       number(s.context_bytes)},
      {"spindrift_context_budget_bytes", "Most of them; 0 = no limit", false,
       number(s.memory_budget)},
      {"spindrift_prefix_bytes", "Of the context: kept for later requests alone", false,
       number(s.prefix_bytes)},
      {"spindrift_prefix_hits_total", "Requests that found a part of their prompt kept", true,
       number(s.prefix_hits)},
      {"spindrift_prefix_misses_total", "Requests that found nothing of it", true,
       number(s.prefix_misses)},
      {"spindrift_prefix_tokens_total", "Prompt tokens that were not read again", true,
       number(s.prefix_tokens)},
      {"spindrift_prefix_evictions_total", "Kept blocks given up for memory", true,
       number(s.prefix_evictions)},
      {"spindrift_preemptions_total", "Requests dropped for memory and replayed", true,
       number(s.preemptions)},
      {"spindrift_forwards_total", "Forwards of the target", true, number(s.forwards)},
      {"spindrift_rows_total", "Rows of all forwards", true, number(s.rows)},
      {"spindrift_prefill_rows_total", "Of the rows: of prompts and replays", true,
       number(s.prefill_rows)},
      {"spindrift_forward_seconds_total", "Time in forwards", true, s.forward_s},
  };
  for (const Row& row : rows) {
    prometheus::ClientMetric metric;
    (row.grows ? metric.counter.value : metric.gauge.value) = row.value;
    prometheus::MetricFamily family;
    family.name = row.name;
    family.help = row.help;
    family.type = row.grows ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    family.metric = {metric};
    out.push_back(std::move(family));
  }
}

}  // namespace

struct Metrics::Families {
  Registry registry;
  Family<Counter>& requests =
      counters(registry, "spindrift_requests_total", "Replies, by path and status");
  Family<Histogram>& request_seconds =
      histograms(registry, "spindrift_request_seconds", "From arrival to the last byte, by path");
  Family<Counter>& answers =
      counters(registry, "spindrift_answers_total", "Answers, by the reason they ended");
  Counter& prompt_tokens =
      counter(registry, "spindrift_prompt_tokens_total", "Prompt tokens of ended answers");
  Counter& generated_tokens =
      counter(registry, "spindrift_generated_tokens_total", "Tokens of ended answers");
  Histogram& first = histograms(registry, "spindrift_time_to_first_token_seconds",
                                "From a request's arrival to each answer's first token")
                         .Add({}, decades(0.001, 16));
  Histogram& next = histograms(registry, "spindrift_inter_token_seconds",
                               "From one token to the next; 0 within a draft that was accepted")
                        .Add({}, decades(0.0001, 16));
  Family<Counter>& rounds = counters(registry, "spindrift_rounds_total",
                                     "Target forwards of one answer after prefill, by kind");
  Counter& drafted =
      counter(registry, "spindrift_drafted_tokens_total", "Draft tokens that were verified");
  Counter& accepted =
      counter(registry, "spindrift_accepted_tokens_total", "Of them, tokens that were kept");
  Family<Counter>& accepted_at = counters(registry, "spindrift_accepted_by_position_total",
                                          "Rounds that kept the draft token at a position, from 1");
  Family<Counter>& drafted_at = counters(registry, "spindrift_drafted_by_position_total",
                                         "Rounds that drafted to a position, from 1");
  Family<Counter>& widths = counters(registry, "spindrift_draft_width_total",
                                     "Rounds by their draft tokens and why so many");
  Counter& drafted_rounds = rounds.Add({{"kind", "drafted"}});
  Counter& plain_rounds = rounds.Add({{"kind", "plain"}});
  // Of the engine's thread: finding a counter by its labels costs more than a round should.
  std::map<std::pair<size_t, std::string_view>, Counter*> width_cache;
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() = default;

void Metrics::request(std::string_view path, int status, double seconds) {
  const std::string label(path);
  families_->requests.Add({{"path", label}, {"status", std::to_string(status)}}).Increment();
  families_->request_seconds.Add({{"path", label}}, decades(0.001, 16)).Observe(seconds);
}

void Metrics::first_token(double seconds) { families_->first.Observe(seconds); }
void Metrics::next_token(double seconds) { families_->next.Observe(seconds); }

void Metrics::round(const RoundRecord& round) {
  const size_t width = round.draft.size();
  (width > 0 ? families_->drafted_rounds : families_->plain_rounds).Increment();
  if (width > 0) {
    families_->drafted.Increment(static_cast<double>(width));
    families_->accepted.Increment(std::min(round.accepted, round.emitted));
  }
  Counter*& counter = families_->width_cache[{width, round.why}];
  if (counter == nullptr)
    counter =
        &families_->widths.Add({{"width", std::to_string(width)}, {"why", std::string(round.why)}});
  counter->Increment();
}

void Metrics::finished(const Outcome& outcome) {
  Families& f = *families_;
  f.answers.Add({{"reason", std::string(name(outcome.reason))}}).Increment();
  f.prompt_tokens.Increment(static_cast<double>(outcome.stats.prompt_tokens));
  f.generated_tokens.Increment(static_cast<double>(outcome.stats.generated_tokens));
  const DraftStats& draft = outcome.stats.draft;
  const auto count = [](Family<Counter>& family, const std::vector<int64_t>& values) {
    for (size_t i = 0; i < values.size(); ++i)
      family.Add({{"position", std::to_string(i + 1)}}).Increment(static_cast<double>(values[i]));
  };
  count(f.accepted_at, draft.accepted_at_depth);
  count(f.drafted_at, draft.drafted_to_depth);
}

std::string Metrics::text(const EngineSnapshot* snapshot) const {
  std::vector<prometheus::MetricFamily> all = families_->registry.Collect();
  if (snapshot != nullptr) add_snapshot(*snapshot, all);
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace spindrift::server
