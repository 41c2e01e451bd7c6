#include "bench/draft_bench.h"

#include <algorithm>
#include <chrono>

#include "core/meter.h"
#include "drafters/drafter.h"

namespace spindrift::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A conversation that a drafter follows.
class Followed {
 public:
  Followed(const Subject& subject, const Drafter& drafter)
      : subject_(subject),
        drafter_(drafter),
        metered_(subject.exec),
        seq_(subject.target->open()),
        state_(drafter.open()) {
    metered_.meter = &meter_;
  }

  // The target reads these tokens; all but the last `late` of them are shown to the drafter.
  void read(std::span<const TokenId> tokens) {
    const SeqRows rows{
        .seq = seq_.get(), .tokens = tokens, .parents = {}, .logits = LogitRows::kNone};
    const ForwardResult result = subject_.target->forward(
        std::span(&rows, 1), {.taps = drafter_.taps()}, target_ws_, subject_.exec);
    taps_ = result.taps;
    std::vector<RowIndex> path;
    for (size_t i = 0; i < tokens.size(); ++i) path.push_back(static_cast<RowIndex>(i));
    seq_->commit(path);
    tokens_.assign(tokens.begin(), tokens.end());
  }
  void observe() {
    drafter_.observe(*state_, {.first = state_->observed(), .tokens = tokens_, .taps = taps_},
                     draft_ws_, metered_);
  }
  // Milliseconds to take in what was read last and to draft after `bonus`.
  double draft(TokenId bonus, int nodes) {
    meter_ = {};
    const DraftCall call{.state = state_.get(), .bonus = bonus, .max_nodes = nodes, .out = &tree_};
    const auto start = Clock::now();
    observe();
    drafter_.propose(std::span(&call, 1), draft_ws_, metered_);
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  }
  const Meter& meter() const { return meter_; }

 private:
  const Subject& subject_;
  const Drafter& drafter_;
  Exec metered_;
  Meter meter_;
  Workspace target_ws_, draft_ws_;
  std::unique_ptr<Sequence> seq_;
  std::unique_ptr<DraftState> state_;
  std::vector<TokenId> tokens_;
  std::span<const ConstRows> taps_;
  DraftTree tree_;
};

}  // namespace

std::vector<Point> bench_draft(const Subject& subject, const Drafter& drafter,
                               const Schedule& schedule, const Roofline& roofline) {
  Followed conversation(subject, drafter);
  const auto count = static_cast<int64_t>(schedule.rows.size());
  const int64_t context = schedule.contexts.front();
  const std::vector<TokenId> tokens =
      random_tokens(context + (1 + schedule.repeat) * count + 1, subject.target->info().vocab, 1);
  for (int64_t at = 0; at < context; at += subject.prefill_chunk) {
    const int64_t rows = std::min(subject.prefill_chunk, context - at);
    conversation.read(
        std::span(tokens).subspan(static_cast<size_t>(at), static_cast<size_t>(rows)));
    conversation.observe();
  }
  std::vector<std::vector<double>> ms(schedule.rows.size());
  std::vector<Meter> meters(schedule.rows.size());
  auto at = static_cast<size_t>(context);
  for (int pass = -1; pass < schedule.repeat; ++pass) {
    schedule.between();
    for (size_t i = 0; i < schedule.rows.size(); ++i) {
      conversation.read(std::span(tokens).subspan(at++, 1));
      const double took = conversation.draft(tokens[at], static_cast<int>(schedule.rows[i]));
      if (pass >= 0) ms[i].push_back(took);
      meters[i] = conversation.meter();
    }
  }
  std::vector<Point> points;
  for (size_t i = 0; i < schedule.rows.size(); ++i) {
    const Spread times = spread(ms[i]);
    const double read = roofline.read_ms(static_cast<double>(meters[i].bytes()));
    const double compute = roofline.compute_ms(static_cast<double>(meters[i].flop()));
    Point point = {{"rows", schedule.rows[i]}, {"context", context}};
    add_spread(point, "ms", times);
    const Field rest[] = {{"bytes", meters[i].bytes()},
                          {"floor_ms", read},
                          {"flop", meters[i].flop()},
                          {"compute_floor_ms", compute},
                          {"times_floor", times.median / std::max(read, compute)}};
    point.insert(point.end(), std::begin(rest), std::end(rest));
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace spindrift::bench
