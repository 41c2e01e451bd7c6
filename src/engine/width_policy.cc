#include "engine/width_policy.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace spindrift {
namespace {

class NoDraft final : public WidthPolicy {
 public:
  WidthChoice choose(const WidthQuery&) override { return {.nodes = 0, .why = "off"}; }
  void record(const RoundCost&) override {}
  std::string decision() const override { return "off: asked for"; }
};

// Always the same width; a last round drafts past the token limit as any other and is cut.
class FixedWidth final : public WidthPolicy {
 public:
  FixedWidth(const DraftWidth& asked, const DraftLimits& limits)
      : asked_(asked.tokens),
        depth_(std::min(asked.tokens, limits.depth)),
        nodes_(asked.nodes == 0 ? depth_ : std::min(asked.nodes, limits.nodes)) {}
  WidthChoice choose(const WidthQuery& q) override {
    const int nodes = std::min(nodes_, q.max_nodes);
    return {
        .nodes = nodes, .depth = depth_, .why = nodes < nodes_ ? "fixed, context ends" : "fixed"};
  }
  void record(const RoundCost&) override {}
  std::string decision() const override {
    std::string text = "fixed: " + std::to_string(nodes_) + " draft tokens a round";
    if (nodes_ > depth_) text += " at most, in a tree " + std::to_string(depth_) + " deep";
    text += ", as asked";
    if (depth_ < asked_) text += ", clamped to the drafter's maximum";
    return text;
  }

 private:
  int asked_, depth_, nodes_;
};

// Mean of recent values: a true mean at first, then with a constant share for the newest.
class Recent {
 public:
  explicit Recent(double prior = 0, int weight = 0) : value_(prior), count_(weight) {}
  void add(double x) {
    ++count_;
    value_ += (x - value_) * std::max(0.15, 1.0 / count_);
  }
  bool any() const { return count_ > 0; }
  double value() const { return value_; }

 private:
  double value_;
  int count_;
};

// Seconds of a drafted round as a line over its width, fitted to recent rounds.
class RoundSeconds {
 public:
  void add(int width, double seconds) {
    const auto n = static_cast<double>(width);
    n_.add(n);
    nn_.add(n * n);
    y_.add(seconds);
    ny_.add(n * seconds);
  }
  bool any() const { return y_.any(); }
  // While all rounds were of one width the line is drawn from `plain`, the seconds of width 0.
  double at(int width, double plain) const {
    const double spread = nn_.value() - n_.value() * n_.value();
    const double slope = spread > 0.05 ? (ny_.value() - n_.value() * y_.value()) / spread
                                       : (y_.value() - plain) / n_.value();
    const double seconds = y_.value() + std::max(slope, 0.0) * (width - n_.value());
    return std::max(seconds, plain);
  }

 private:
  Recent n_, nn_, y_, ny_;
};

// Takes the width with the most expected tokens per second, from the measured seconds of plain and
// drafted rounds and the recent acceptance at each depth. Where that is none, drafting pauses and
// is probed, narrow, after growing gaps.
class AutoWidth final : public WidthPolicy {
 public:
  explicit AutoWidth(const DraftLimits& limits)
      : max_nodes_(limits.nodes),
        depth_(limits.depth),
        hit_(static_cast<size_t>(limits.nodes), Recent(kPriorHit, 2)) {}

  WidthChoice choose(const WidthQuery& q) override {
    WidthChoice choice = choose_nodes(q);
    choice.depth = depth_;
    return choice;
  }

  void record(const RoundCost& r) override {
    const double seconds = r.draft_s + r.verify_s;
    if (r.drafted == 0) {
      plain_s_.add(seconds);
      return;
    }
    if (std::exchange(probing_, false) && r.accepted == r.drafted && could_pay()) ++probes_;
    accepted_.add(r.accepted);
    for (int depth = 0; depth < std::min(r.accepted + 1, std::min(r.drafted, max_nodes_)); ++depth)
      hit_[static_cast<size_t>(depth)].add(depth < r.accepted ? 1.0 : 0.0);
    // The first round touches the drafter's weights for the first time: no measure.
    if (++drafted_rounds_ > 1) round_s_.add(r.drafted, seconds);
  }

  std::string decision() const override {
    if (drafted_rounds_ == 0) return "auto: no round had room to draft";
    std::string text = "recent rounds accept " + tenths(accepted_.value()) + " draft tokens";
    if (pauses_ > 0) text += "; paused " + std::to_string(pauses_) + " times";
    const int width = drafted_rounds_ < kLearningRounds ? max_nodes_ : best(max_nodes_);
    if (width == 0) return "auto: off, a plain round makes more tokens per second; " + text;
    return "auto: on at width " + std::to_string(width) + "; " + text;
  }

 private:
  static constexpr double kPriorHit = 0.8;   // of a depth never seen
  static constexpr double kWorthIt = 1.02;   // gain over plain below which drafting stays off
  static constexpr int kLearningRounds = 2;  // drafted rounds before the first plain one
  static constexpr int kFirstWidth = 4;      // of the first, which goes wide next when all hit
  static constexpr int kSecondWidth = 2;     // else
  static constexpr int kPlainGap = 64;       // rounds from one plain yardstick to the next
  static constexpr int kProbes = 1;          // a probe that hits throughout earns another
  static constexpr int kProbeWidth = 3;
  static constexpr int kFirstGap = 8;
  static constexpr int kLongestGap = 512;

  WidthChoice choose_nodes(const WidthQuery& q) {
    const auto room = static_cast<int>(std::min<int64_t>(q.tokens_left - 1, q.max_nodes));
    if (room <= 0) return {.nodes = 0, .why = "nothing left to draft"};
    if (pause_ > 0) {
      --pause_;
      return {.nodes = 0, .why = "paused: drafting is slower than plain"};
    }
    if (drafted_rounds_ < kLearningRounds) {
      const bool all_hit = drafted_rounds_ > 0 && accepted_.value() >= kFirstWidth;
      const int width = drafted_rounds_ == 0 ? kFirstWidth : all_hit ? max_nodes_ : kSecondWidth;
      return {.nodes = std::min({width, room, max_nodes_}), .why = "learning the cost"};
    }
    if (--until_plain_ < 0) {
      until_plain_ = kPlainGap;
      return {.nodes = 0, .why = "plain, to compare"};
    }
    const int width = best(room);
    if (width > 0) {
      gap_ = kFirstGap;
      return {.nodes = width, .why = "most tokens per second"};
    }
    if (probes_ > 0) {
      --probes_;
      probing_ = true;
      return {.nodes = std::min(kProbeWidth, room), .why = "probe"};
    }
    pause_ = gap_ - 1;
    gap_ = std::min(gap_ * 2, kLongestGap);
    probes_ = kProbes;
    ++pauses_;
    return {.nodes = 0, .why = "paused: drafting is slower than plain"};
  }
  // The width up to `room` with the most expected tokens per second; 0 = plain.
  int best(int room) const {
    const double plain = plain_s_.value();
    if (!plain_s_.any() || !round_s_.any() || plain <= 0) return room;
    double expected = 1;
    double reached = 1;
    double most = kWorthIt / plain;
    int width = 0;
    for (int n = 1; n <= room; ++n) {
      reached *= hit_[static_cast<size_t>(n - 1)].value();
      expected += reached;
      const double rate = expected / round_s_.at(n, plain);
      if (rate > most) most = rate, width = n;
    }
    return width;
  }
  // Whether drafting beats plain rounds if everything hits.
  bool could_pay() const {
    return (max_nodes_ + 1) * plain_s_.value() >
           kWorthIt * round_s_.at(max_nodes_, plain_s_.value());
  }
  static std::string tenths(double x) {
    const auto n = static_cast<int64_t>(std::lround(x * 10));
    return std::to_string(n / 10) + '.' + std::to_string(n % 10);
  }

  int max_nodes_, depth_;
  std::vector<Recent> hit_;  // by depth: of the rounds that reached it, the share that hit
  Recent accepted_, plain_s_;
  RoundSeconds round_s_;
  int drafted_rounds_ = 0, pauses_ = 0;
  int pause_ = 0, gap_ = kFirstGap, probes_ = 0, until_plain_ = 0;
  bool probing_ = false;
};

}  // namespace

std::unique_ptr<WidthPolicy> make_width_policy(const DraftWidth& width, const DraftLimits& limits) {
  if (limits.nodes == 0 || width.mode == DraftWidth::Mode::kOff) return std::make_unique<NoDraft>();
  if (width.mode == DraftWidth::Mode::kAuto) return std::make_unique<AutoWidth>(limits);
  if (width.tokens == 0) return std::make_unique<NoDraft>();
  return std::make_unique<FixedWidth>(width, limits);
}

}  // namespace spindrift
