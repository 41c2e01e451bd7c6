#include "bench/forward_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <unordered_set>

#include "core/meter.h"

namespace spindrift::bench {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Forwards on one sequence, metered.
class Runner {
 public:
  explicit Runner(const Subject& subject) : subject_(subject), exec_(subject.exec) {
    exec_.meter = &meter_;
  }
  Workspace& workspace() { return ws_; }

  // Milliseconds of one forward whose rows are not kept.
  double forward(Sequence& seq, std::span<const TokenId> tokens, LogitRows logits) {
    meter_ = {};
    const SeqRows rows{.seq = &seq, .tokens = tokens, .parents = {}, .logits = logits};
    const auto start = Clock::now();
    subject_.target->forward(std::span(&rows, 1), {}, ws_, exec_);
    return ms_since(start);
  }
  // Of the last forward.
  const Meter& meter() const { return meter_; }

 private:
  const Subject& subject_;
  Exec exec_;
  Meter meter_;
  Workspace ws_;
};

void commit_all(Sequence& seq, int64_t rows) {
  std::vector<RowIndex> path(static_cast<size_t>(rows));
  std::iota(path.begin(), path.end(), 0);
  seq.commit(path);
}

// Everything that one point of a series needs.
struct Case {
  int64_t context = 0;
  std::vector<TokenId> tokens;
  std::vector<double> ms = {};
  Meter meter = {};
};

double floor_ms(const Meter& meter, const Roofline& roofline) {
  return std::max(roofline.read_ms(static_cast<double>(meter.bytes())),
                  roofline.compute_ms(static_cast<double>(meter.flop())));
}

Point width_point(const Case& c, double one_row_ms, const Roofline& roofline) {
  const Spread ms = spread(c.ms);
  const double read = roofline.read_ms(static_cast<double>(c.meter.bytes()));
  const double compute = roofline.compute_ms(static_cast<double>(c.meter.flop()));
  Point point = {{"rows", static_cast<int64_t>(c.tokens.size())}, {"context", c.context}};
  add_spread(point, "ms", ms);
  const Field rest[] = {{"ratio", ms.median / one_row_ms},
                        {"bytes", c.meter.bytes()},
                        {"floor_ms", read},
                        {"read_share", read / ms.median},
                        {"flop", c.meter.flop()},
                        {"compute_floor_ms", compute},
                        {"peak_share", compute / ms.median},
                        {"times_floor", ms.median / std::max(read, compute)}};
  point.insert(point.end(), std::begin(rest), std::end(rest));
  return point;
}

}  // namespace

std::vector<TokenId> random_tokens(int64_t count, int64_t vocab, uint64_t seed) {
  std::vector<TokenId> out;
  std::unordered_set<TokenId> seen;
  uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  while (std::ssize(out) < count) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto token = static_cast<TokenId>((state >> 33U) % static_cast<uint64_t>(vocab));
    if (std::ssize(seen) == vocab) seen.clear();
    if (seen.insert(token).second) out.push_back(token);
  }
  return out;
}

std::unique_ptr<Sequence> read_context(const Subject& subject, int64_t tokens, Workspace& ws) {
  std::unique_ptr<Sequence> seq = subject.target->open();
  const std::vector<TokenId> ids = random_tokens(tokens, subject.target->info().vocab, 1);
  for (int64_t at = 0; at < tokens;) {
    const int64_t count = std::min(subject.prefill_chunk, tokens - at);
    const SeqRows rows{
        .seq = seq.get(),
        .tokens = std::span(ids).subspan(static_cast<size_t>(at), static_cast<size_t>(count)),
        .parents = {},
        .logits = LogitRows::kNone};
    subject.target->forward(std::span(&rows, 1), {}, ws, subject.exec);
    commit_all(*seq, count);
    at += count;
  }
  return seq;
}

std::vector<Point> bench_width(const Subject& subject, const Schedule& schedule,
                               const Roofline& roofline) {
  Runner runner(subject);
  std::vector<std::vector<Case>> contexts;
  for (const int64_t context : schedule.contexts) {
    const std::unique_ptr<Sequence> seq = read_context(subject, context, runner.workspace());
    std::vector<Case>& cases = contexts.emplace_back();
    for (const int64_t rows : schedule.rows) {
      const auto seed = static_cast<uint64_t>(2 + rows);
      cases.push_back(
          {.context = context, .tokens = random_tokens(rows, subject.target->info().vocab, seed)});
    }
    for (int pass = -1; pass < schedule.repeat; ++pass) {  // one more, first, to touch everything
      schedule.between();
      for (Case& c : cases) {
        const double ms = runner.forward(*seq, c.tokens, LogitRows::kAll);
        if (pass >= 0) c.ms.push_back(ms);
        c.meter = runner.meter();
      }
    }
  }
  std::vector<Point> points;
  for (const std::vector<Case>& cases : contexts) {
    const double first_ms = spread(cases.front().ms).median;
    for (const Case& c : cases) points.push_back(width_point(c, first_ms, roofline));
  }
  return points;
}

std::vector<Point> bench_prefill(const Subject& subject, const Schedule& schedule,
                                 const Roofline& roofline) {
  Runner runner(subject);
  std::vector<Case> cases;
  for (const int64_t context : schedule.contexts)
    for (const int64_t tokens : schedule.rows)
      cases.push_back(
          {.context = context, .tokens = random_tokens(tokens, subject.target->info().vocab, 2)});
  for (int pass = -1; pass < schedule.repeat; ++pass) {
    schedule.between();
    for (Case& c : cases) {
      const std::unique_ptr<Sequence> seq = read_context(subject, c.context, runner.workspace());
      double ms = 0;
      Meter meter;
      for (size_t at = 0; at < c.tokens.size();) {
        const size_t count =
            std::min(static_cast<size_t>(subject.prefill_chunk), c.tokens.size() - at);
        const bool last = at + count == c.tokens.size();
        ms += runner.forward(*seq, std::span(c.tokens).subspan(at, count),
                             last ? LogitRows::kLast : LogitRows::kNone);
        commit_all(*seq, static_cast<int64_t>(count));
        meter.linear_multiply_adds += runner.meter().linear_multiply_adds;
        meter.attention_multiply_adds += runner.meter().attention_multiply_adds;
        at += count;
      }
      if (pass >= 0) c.ms.push_back(ms);
      c.meter = meter;
    }
  }
  std::vector<Point> points;
  for (const Case& c : cases) {
    const Spread ms = spread(c.ms);
    Point point = {{"tokens", static_cast<int64_t>(c.tokens.size())}, {"context", c.context}};
    add_spread(point, "ms", ms);
    const double compute = roofline.compute_ms(static_cast<double>(c.meter.flop()));
    const Field rest[] = {{"tokens_per_s", static_cast<double>(c.tokens.size()) * 1e3 / ms.median},
                          {"flop", c.meter.flop()},
                          {"linear_flop", 2 * c.meter.linear_multiply_adds},
                          {"peak_share", compute / ms.median}};
    point.insert(point.end(), std::begin(rest), std::end(rest));
    points.push_back(std::move(point));
  }
  return points;
}

std::vector<Point> bench_decode(const Subject& subject, const Schedule& schedule,
                                const Roofline& roofline) {
  Runner runner(subject);
  struct Frontier {
    int64_t context = 0;
    std::unique_ptr<Sequence> seq;
    std::vector<double> ms;
    std::vector<Meter> meters;
  };
  std::vector<Frontier> frontiers;
  for (const int64_t context : schedule.contexts)
    frontiers.push_back({context, read_context(subject, context, runner.workspace()), {}, {}});
  const std::vector<TokenId> tokens =
      random_tokens(schedule.repeat + 1, subject.target->info().vocab, 2);
  for (int pass = -1; pass < schedule.repeat; ++pass) {
    schedule.between();
    for (Frontier& f : frontiers) {
      const double ms = runner.forward(
          *f.seq, std::span(tokens).subspan(static_cast<size_t>(pass + 1), 1), LogitRows::kAll);
      if (pass < 0) continue;
      f.ms.push_back(ms);
      f.meters.push_back(runner.meter());
    }
  }
  std::vector<Point> points;
  for (const Frontier& f : frontiers) {
    const Spread ms = spread(f.ms);
    Point point = {{"context", f.context}};
    add_spread(point, "ms_per_token", ms);
    std::vector<double> bytes, floors;
    for (const Meter& meter : f.meters) {
      bytes.push_back(static_cast<double>(meter.bytes()));
      floors.push_back(floor_ms(meter, roofline));
    }
    const double floor = spread(floors).median;
    const Field rest[] = {{"tokens_per_s", 1e3 / ms.median},
                          {"bytes", static_cast<int64_t>(spread(bytes).median)},
                          {"floor_ms", floor},
                          {"times_floor", ms.median / floor}};
    point.insert(point.end(), std::begin(rest), std::end(rest));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace spindrift::bench
