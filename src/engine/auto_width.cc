#include "engine/auto_width.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace spindrift {
namespace {

constexpr double kChainGuess = 0.9;  // hits of a chain nothing is known of: one look is cheap
constexpr double kTreeGuess = 0.35;  // and of what a chain misses, a tree's
constexpr double kDoubt = 0.4;
constexpr double kDoubtedRounds = 3;
constexpr double kWorthStarting = 1.04;
constexpr double kWorthGoingOn = 1.01;
constexpr int kFirstWidth = 4;      // while costs are unknown
constexpr int kLearningDrafts = 6;  // measured in all, after which costs count as known
constexpr int kLearningRounds = 2;  // plain; a request adds one draft more than that
constexpr int kPlainGap = 64;       // rounds from one plain yardstick to the next
constexpr int kLongPlainGap = 256;  // where drafting pays well
constexpr double kPaysWell = 1.5;
constexpr int kProbeWidth = 2;
constexpr int kFirstGap = 8;
constexpr int kLongestGap = 512;  // unless a probe costs so much that its share needs more
constexpr double kLongestPause = 1e6;
constexpr int kFirstLooks = 3;        // drafts of a request, before one miss can pause it
constexpr int kEarlyPauses = 3;       // that are short whatever a probe costs
constexpr double kProbeShare = 0.01;  // of the time, that probes may cost
constexpr int kFirstRounds = 5;       // drafted rounds after which a drafter that never hit ...
constexpr int kLastRounds = 32;       // ... or until which one that nearly never did is given up
constexpr int kNearlyNever = 16;      // rounds an accepted token

constexpr std::string_view kPaused = "paused: drafting is slower than plain";

std::string tenths(double x) {
  const auto n = static_cast<int64_t>(std::lround(x * 10));
  return std::to_string(n / 10) + '.' + std::to_string(n % 10);
}

int64_t drafts_measured(const RoundCosts& costs) {
  int64_t count = 0;
  for (const CostCurve::Sample& sample : costs.chain.samples()) count += sample.count;
  return count;
}

// Costs measured a few times may have been measured at a bad moment, and what looks too dear is not
// measured again: so they count for less until they are known.
double hopeful(const CostCurve& curve, int size) {
  const auto count = static_cast<double>(curve.count_near(size));
  return curve.at(size) * (1 - kDoubt / (1 + count / kDoubtedRounds));
}

}  // namespace

AutoWidth::AutoWidth(const DraftLimits& limits, DraftExperience& experience)
    : limits_(limits),
      experience_(experience),
      chain_(experience.chain),
      tree_(experience.tree),
      gap_(kFirstGap) {
  chain_.fade();
  tree_.fade();
}

WidthChoice AutoWidth::chain(int nodes, std::string_view why) const {
  return {.nodes = nodes, .depth = limits_.depth, .why = why};
}

WidthChoice AutoWidth::choose(const WidthQuery& query) {
  const auto room = static_cast<int>(std::min<int64_t>(query.tokens_left - 1, query.max_nodes));
  probing_ = false;
  if (room <= 0) return chain(0, "nothing left to draft");
  if (given_up_) return chain(0, "given up: the drafter does not hit");
  if (pause_ > 0) {
    --pause_;
    return chain(0, kPaused);
  }
  WidthChoice choice;
  if (learning(query, room, choice)) return choice;
  choice = best(query, room);
  if (choice.nodes > 0) {
    if (++since_plain_ > (choice.expected > kPaysWell ? kLongPlainGap : kPlainGap)) {
      since_plain_ = 0;
      return chain(0, "plain, to compare");
    }
    on_ = true;
    gap_ = kFirstGap;
    return last_ = choice;
  }
  const bool first_looks = drafted_rounds_ < kFirstLooks && could_pay();
  if (probes_ > 0 || first_looks) {
    probes_ = std::max(probes_ - 1, 0);
    probing_ = true;
    return chain(std::min({kProbeWidth, room, limits_.depth}), "probe");
  }
  return pause(query);
}

// A few drafts, one of them long, and two plain rounds give costs a start.
bool AutoWidth::learning(const WidthQuery& query, int room, WidthChoice& choice) {
  const RoundCosts& costs = experience_.costs;
  if (drafts_measured(costs) < kLearningDrafts && drafted_rounds_ <= kLearningRounds) {
    const int width = drafted_rounds_ == 1 && accepted_ > 0 ? limits_.depth : kFirstWidth;
    choice = chain(std::min({width, room, limits_.depth}), "learning the cost");
    return true;
  }
  if (query.other_requests > 0 || costs.verify.count(1) >= kLearningRounds ||
      learned_plain_ >= kLearningRounds)
    return false;
  ++learned_plain_;
  choice = chain(0, "learning the cost");
  return true;
}

double AutoWidth::seconds(const WidthChoice& choice, const WidthQuery& query) const {
  const RoundCosts& costs = experience_.costs;
  const double plain = costs.verify.at(1 + query.other_requests);
  if (choice.nodes == 0) return plain;
  const bool tree = choice.nodes > choice.depth;
  const CostCurve& drafts = tree && costs.tree.any() ? costs.tree : costs.chain;
  return std::max(plain, hopeful(costs.verify, 1 + query.other_requests + choice.nodes)) +
         hopeful(drafts, choice.nodes);
}

// A tree holds the chain and more.
double AutoWidth::tree_hit(int depth) const {
  const double alone = chain_.hit(depth, kChainGuess);
  return std::max(alone, tree_.hit(depth, alone + kTreeGuess * (1 - alone)));
}

void AutoWidth::consider(const WidthChoice& candidate, double tokens, const WidthQuery& query,
                         WidthChoice& best) const {
  const double others = query.other_requests;
  const double gain =
      (others + tokens) / (others + 1) * seconds({}, query) / seconds(candidate, query);
  if (gain <= best.expected) return;
  best = candidate;
  best.expected = gain;
}

WidthChoice AutoWidth::best(const WidthQuery& query, int room) const {
  const RoundCosts& costs = experience_.costs;
  WidthChoice best = chain(0, kPaused);
  if (!costs.verify.any() || !costs.chain.any()) return best;
  best.expected = on_ ? kWorthGoingOn : kWorthStarting;
  double tokens = 1, reached = 1;
  for (int n = 1; n <= std::min(room, limits_.depth); ++n) {
    reached *= chain_.hit(n, kChainGuess);
    tokens += reached;
    consider(chain(n, "most tokens per second"), tokens, query, best);
  }
  if (limits_.nodes <= limits_.depth || room < limits_.nodes) return best;
  tokens = reached = 1;
  for (int depth = 1; depth <= limits_.depth; ++depth) {
    reached *= tree_hit(depth);
    tokens += reached;
  }
  consider(
      {.nodes = limits_.nodes, .depth = limits_.depth, .why = "most tokens per second: a tree"},
      tokens, query, best);
  return best;
}

// Whether the longest chain would beat plain rounds if it always hit.
bool AutoWidth::could_pay() const {
  if (!experience_.costs.verify.any() || !experience_.costs.chain.any()) return true;
  const double most = 1 + limits_.depth;
  return most * seconds({}, {}) > kWorthStarting * seconds(chain(limits_.depth, {}), {});
}

WidthChoice AutoWidth::pause(const WidthQuery& query) {
  on_ = false;
  chain_.fade();
  tree_.fade();
  double gap = gap_;
  const bool early = could_pay() && pauses_ < kEarlyPauses;
  if (!early && experience_.costs.verify.any() && experience_.costs.chain.any()) {
    const double probe = seconds(chain(std::min(kProbeWidth, limits_.depth), {}), query);
    gap = std::max(gap, (probe / seconds({}, query) - 1) / kProbeShare);
  }
  pause_ = static_cast<int>(std::min(gap, kLongestPause)) - 1;
  gap_ = std::min(gap_ * 2, kLongestGap);
  probes_ = 1;
  ++pauses_;
  return chain(0, kPaused);
}

void AutoWidth::record(const RoundCost& round) {
  RoundCosts& costs = experience_.costs;
  if (round.rows > 0) costs.verify.add(round.rows, round.verify_s);
  if (round.drafted == 0) return;
  const bool is_tree = round.depth < round.drafted;
  // A probe also takes in the rows that waited during the pause, and one pass drafts for all
  // requests: no measures, but better than none.
  CostCurve& drafts = is_tree ? costs.tree : costs.chain;
  const bool alone = round.rows == 1 + round.drafted;
  if ((alone && !probing_) || !drafts.any()) drafts.add(round.drafted, round.draft_s);
  const int on_first = is_tree ? round.accepted_first : round.accepted;
  for (Acceptance* seen : {&chain_, &experience_.chain}) seen->add(round.depth, on_first);
  if (is_tree)
    for (Acceptance* seen : {&tree_, &experience_.tree}) seen->add(round.depth, round.accepted);
  if (probing_ && round.accepted == round.depth && could_pay()) probes_ = 1;
  ++drafted_rounds_;
  accepted_ += round.accepted;
  recent_accepted_ += (round.accepted - recent_accepted_) * std::max(0.15, 1.0 / drafted_rounds_);
  given_up_ = drafted_rounds_ >= kFirstRounds && drafted_rounds_ <= kLastRounds &&
              accepted_ * kNearlyNever < drafted_rounds_;
}

std::string AutoWidth::decision() const {
  if (drafted_rounds_ == 0)
    return pauses_ > 0 ? "auto: off, earlier requests say that a plain round makes more tokens per "
                         "second"
                       : "auto: no round had room to draft";
  std::string text = "recent rounds accept " + tenths(recent_accepted_) + " draft tokens";
  if (pauses_ > 0) text += "; paused " + std::to_string(pauses_) + " times";
  if (given_up_) return "auto: given up, the drafter does not hit; " + text;
  if (!on_) return "auto: off, a plain round makes more tokens per second; " + text;
  const bool tree = last_.nodes > last_.depth;
  return "auto: on at width " + std::to_string(last_.nodes) + (tree ? ", a tree" : "") +
         ", expecting " + tenths(last_.expected) + " times plain; " + text;
}

}  // namespace spindrift
