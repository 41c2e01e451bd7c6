#include "engine/width_policy.h"

#include <algorithm>
#include <cmath>

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
  FixedWidth(int asked, int max_nodes) : asked_(asked), nodes_(std::min(asked, max_nodes)) {}
  WidthChoice choose(const WidthQuery& q) override {
    const int nodes = std::min(nodes_, q.max_nodes);
    return {.nodes = nodes, .why = nodes < nodes_ ? "fixed, context ends" : "fixed"};
  }
  void record(const RoundCost&) override {}
  std::string decision() const override {
    std::string text = "fixed: " + std::to_string(nodes_) + " draft tokens a round, as asked";
    if (nodes_ < asked_) text += ", clamped to the drafter's maximum";
    return text;
  }

 private:
  int asked_, nodes_;
};

// A running mean that weighs recent rounds more.
class Recent {
 public:
  void add(double x) { value_ = any_ ? value_ + 0.25 * (x - value_) : x, any_ = true; }
  bool any() const { return any_; }
  double value() const { return value_; }

 private:
  double value_ = 0;
  bool any_ = false;
};

// Width follows recent acceptance; drafting stops while a drafted token costs more time than a
// plain one, and is tried again after growing gaps. Plain rounds now and then are the yardstick.
class AutoWidth final : public WidthPolicy {
 public:
  explicit AutoWidth(int max_nodes) : max_nodes_(max_nodes) {}

  WidthChoice choose(const WidthQuery& q) override {
    const auto room = static_cast<int>(std::min<int64_t>(q.tokens_left - 1, q.max_nodes));
    if (room <= 0) return {.nodes = 0, .why = "nothing left to draft"};
    if (pause_ > 0) {
      --pause_;
      return {.nodes = 0, .why = "paused: drafting was slower than plain"};
    }
    if (drafted_rounds_ >= kFirstYardstick && until_yardstick_ <= 0) {
      until_yardstick_ = kYardstickGap;
      return {.nodes = 0, .why = "plain, to compare"};
    }
    --until_yardstick_;
    return {.nodes = std::min(wanted(), room),
            .why = accepted_.any() ? "recent acceptance" : "start"};
  }

  void record(const RoundCost& r) override {
    const double seconds = r.draft_s + r.verify_s;
    if (r.drafted == 0) {
      plain_s_.add(seconds);
      return;
    }
    ++drafted_rounds_;
    accepted_.add(r.accepted);
    token_s_.add(seconds / (r.accepted + 1));
    ++probe_rounds_;
    if (!plain_s_.any() || probe_rounds_ < kProbeRounds) return;
    if (token_s_.value() > plain_s_.value()) {
      pause_ = gap_;
      gap_ = std::min(gap_ * 2, kLongestGap);
      probe_rounds_ = 0;
      token_s_ = {};
      ++pauses_;
    } else {
      gap_ = kFirstGap;
    }
  }

  std::string decision() const override {
    if (drafted_rounds_ == 0) return "auto: no round had room to draft";
    const std::string gain = "recent rounds accept " + tenths(accepted_.value()) + " draft tokens";
    if (pause_ > 0)
      return "auto: paused, a drafted token costs more time than a plain one; " + gain;
    return "auto: on at width " + std::to_string(wanted()) + "; " + gain +
           (pauses_ > 0 ? "; paused " + std::to_string(pauses_) + " times" : "");
  }

 private:
  static constexpr int kFirstYardstick = 3;  // drafted rounds before the first plain one
  static constexpr int kYardstickGap = 64;
  static constexpr int kProbeRounds = 2;
  static constexpr int kFirstGap = 8;
  static constexpr int kLongestGap = 512;

  int wanted() const {
    if (!accepted_.any()) return max_nodes_;
    return std::clamp(static_cast<int>(std::ceil(accepted_.value() * 1.25)) + 2, 1, max_nodes_);
  }
  static std::string tenths(double x) {
    const auto n = static_cast<int64_t>(std::lround(x * 10));
    return std::to_string(n / 10) + '.' + std::to_string(n % 10);
  }

  int max_nodes_;
  Recent accepted_, token_s_, plain_s_;
  int drafted_rounds_ = 0, probe_rounds_ = 0, pauses_ = 0;
  int pause_ = 0, gap_ = kFirstGap, until_yardstick_ = 0;
};

}  // namespace

std::unique_ptr<WidthPolicy> make_width_policy(const DraftWidth& width, int max_nodes) {
  if (max_nodes == 0 || width.mode == DraftWidth::Mode::kOff) return std::make_unique<NoDraft>();
  if (width.mode == DraftWidth::Mode::kAuto) return std::make_unique<AutoWidth>(max_nodes);
  if (width.tokens == 0) return std::make_unique<NoDraft>();
  return std::make_unique<FixedWidth>(width.tokens, max_nodes);
}

}  // namespace spindrift
