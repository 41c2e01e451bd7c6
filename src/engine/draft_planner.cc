#include "engine/draft_planner.h"

#include <algorithm>
#include <utility>

namespace spindrift {
namespace {

constexpr double kDoubt = 0.4;
constexpr double kDoubtedRounds = 3;
constexpr double kWorthStarting = 1.04;
constexpr double kWorthGoingOn = 1.01;
constexpr int kLookWidth = 2;
constexpr int64_t kLearningPasses = 2;  // the first one touches memory for the first time
constexpr int64_t kLearningRounds = 2;  // plain
constexpr int kPlainGap = 64;           // rounds from one plain yardstick to the next
constexpr int kLongPlainGap = 256;      // where drafting pays well
constexpr double kPaysWell = 1.5;
constexpr double kLookShare = 0.005;  // of the time, that looks may cost
constexpr double kMostStall = 1.2;    // of what was planned, that is charged for
constexpr int kFreeMisses = 5;        // looks at a drafter, before gaps grow
constexpr double kLeastCredit = 1;    // to begin with
constexpr int64_t kFirstGap = 6;
constexpr int kMostDoublings = 20;
constexpr int64_t kMostWaiting = 512;  // rows; a drafter sees a window
constexpr int64_t kHorizon = 32;       // rounds over which rows that wait at first must pay

constexpr std::string_view kPays = "most tokens per second";
constexpr std::string_view kTreePays = "most tokens per second: a tree";
constexpr std::string_view kPaused = "paused: drafting is slower than plain";
constexpr std::string_view kLearning = "learning the cost";

// Costs measured a few times may have been measured at a bad moment, and what looks too dear is not
// measured again: so they count for less until they are known.
double hopeful(const CostCurve& curve, int size) {
  return curve.at(size) * (1 - kDoubt / (1 + curve.evidence(size) / kDoubtedRounds));
}

}  // namespace

DraftPlanner::DraftPlanner(const DraftLimits& limits, RoundCosts costs, int64_t max_nodes)
    : limits_(limits), max_nodes_(max_nodes), costs_(std::move(costs)) {
  costs_.credit = std::max(costs_.credit, kLeastCredit);  // other prompts may fare better
}

void DraftPlanner::choose(std::span<DraftSeat> seats) {
  planned_s_ = 0;
  seat_fixed(seats);
  if (open_.empty()) return;
  if (costs_.credit < RoundCosts::kFirstCredit) costs_.credit += kLookShare;
  if (learn()) return;
  plain_s_ = seconds({});
  const Plan plan = best();
  on_ = plan.pass.calls > 0;
  if (on_ && ++since_plain_ > (plan.gain > kPaysWell ? kLongPlainGap : kPlainGap)) {
    since_plain_ = 0;
    for (DraftSeat* seat : open_) seat->choice.why = "plain, to compare";
    return;
  }
  draft(plan);
  look(plan.pass);
}

// Requests with a width of their own, or without room, leave nothing to decide.
void DraftPlanner::seat_fixed(std::span<DraftSeat> seats) {
  open_.clear();
  fixed_ = {};
  seats_ = static_cast<int>(seats.size());
  for (DraftSeat& seat : seats) {
    seat.history->next_round();
    if (!seat.history->automatic()) {
      seat.choice = seat.history->fixed(seat.room);
      fixed_.calls += seat.choice.nodes > 0 ? 1 : 0;
      fixed_.nodes += seat.choice.nodes;
      fixed_.tree = fixed_.tree || seat.choice.nodes > seat.choice.depth;
      continue;
    }
    seat.room = static_cast<int>(std::min<int64_t>(seat.tokens_left - 1, seat.room));
    seat.choice = {.depth = limits_.depth, .why = kPaused};
    if (seat.room > 0)
      open_.push_back(&seat);
    else
      seat.choice.why = "nothing left to draft";
  }
}

// Two narrow drafts and two plain rounds give costs a start.
bool DraftPlanner::learn() {
  if (costs_.chain.measured() < kLearningPasses) {
    DraftSeat& seat = *open_.front();
    seat.choice.nodes = std::min({kLookWidth, seat.room, limits_.depth});
    seat.choice.why = kLearning;
    return true;
  }
  const int rows = seats_ + fixed_.nodes;
  if (rows != learned_rows_) learned_plain_ = 0;
  learned_rows_ = rows;
  if (costs_.verify.count(rows) >= kLearningRounds || learned_plain_ >= kLearningRounds)
    return !costs_.verify.any();
  ++learned_plain_;
  for (DraftSeat* seat : open_) seat->choice.why = kLearning;
  return true;
}

double DraftPlanner::first_seconds(const DraftSeat& seat) const {
  if (!costs_.intake.any() || seat.waiting <= limits_.depth + 1) return 0;
  const auto rounds = std::clamp<int64_t>(seat.tokens_left, 1, kHorizon);
  return costs_.intake.at(static_cast<int>(std::min<int64_t>(seat.waiting, kMostWaiting))) /
         static_cast<double>(rounds);
}

// Of a round with this pass beside the fixed one.
double DraftPlanner::seconds(Pass pass) const {
  const int rows = seats_ + fixed_.nodes;
  const double plain = costs_.verify.at(rows);
  const double verify =
      pass.nodes == 0 ? plain : std::max(plain, hopeful(costs_.verify, rows + pass.nodes));
  pass.calls += fixed_.calls;
  pass.nodes += fixed_.nodes;
  pass.tree = pass.tree || fixed_.tree;
  if (pass.calls == 0) return verify;
  const CostCurve* curve = (pass.tree ? costs_.tree : costs_.chain).nearest(pass.calls);
  if (curve == nullptr) curve = costs_.chain.nearest(pass.calls);
  return verify + (curve == nullptr ? 0 : hopeful(*curve, pass.nodes)) + pass.first;
}

void DraftPlanner::consider(const Pass& pass, double tokens, size_t steps, Plan& plan) const {
  const double gain = tokens / seats_ * plain_s_ / seconds(pass);
  if (gain <= plan.gain) return;
  plan = {.steps = steps, .tree = pass.tree, .gain = gain, .pass = pass};
}

DraftPlanner::Plan DraftPlanner::best() {
  Plan plan{.gain = on_ ? kWorthGoingOn : kWorthStarting};
  if (!ever_hit_) return plan;  // looks tell first whether it hits at all
  chains(plan);
  if (limits_.nodes > limits_.depth) trees(plan);
  return plan;
}

// One token more, again and again, where it is the likeliest to be kept. What a token brings goes
// down along a chain, so these are the best drafts of every number of tokens.
void DraftPlanner::chains(Plan& plan) {
  steps_.clear();
  next_.clear();
  depths_.assign(open_.size(), 0);
  for (size_t i = 0; i < open_.size(); ++i)
    next_.push_back({.seat = i, .reached = open_[i]->history->chain_hit(1, experience_)});
  Pass pass;
  double tokens = seats_;
  while (pass.nodes + fixed_.nodes < max_nodes_) {
    const auto next =
        std::max_element(next_.begin(), next_.end(),
                         [](const Step& a, const Step& b) { return a.reached < b.reached; });
    if (next->reached <= 0) return;
    const DraftSeat& seat = *open_[next->seat];
    int& depth = depths_[next->seat];
    steps_.push_back(*next);
    tokens += next->reached;
    if (++depth == 1) {
      ++pass.calls;
      pass.first += first_seconds(seat);
    }
    ++pass.nodes;
    consider(pass, tokens, steps_.size(), plan);
    next->reached = depth < std::min(seat.room, limits_.depth)
                        ? next->reached * seat.history->chain_hit(depth + 1, experience_)
                        : 0;
  }
}

// Whole trees, for the requests where they bring most.
void DraftPlanner::trees(Plan& plan) {
  next_.clear();
  for (size_t i = 0; i < open_.size(); ++i) {
    if (open_[i]->room < limits_.nodes) continue;
    double tokens = 0, reached = 1;
    for (int depth = 1; depth <= limits_.depth; ++depth) {
      reached *= open_[i]->history->tree_hit(depth, experience_);
      tokens += reached;
    }
    next_.push_back({.seat = i, .reached = tokens});
  }
  std::sort(next_.begin(), next_.end(),
            [](const Step& a, const Step& b) { return a.reached > b.reached; });
  Pass pass{.tree = true};
  double tokens = seats_;
  for (size_t i = 0; i < next_.size(); ++i) {
    if (pass.nodes + fixed_.nodes + limits_.nodes > max_nodes_) return;
    ++pass.calls;
    pass.nodes += limits_.nodes;
    pass.first += first_seconds(*open_[next_[i].seat]);
    tokens += next_[i].reached;
    consider(pass, tokens, i + 1, plan);
  }
}

void DraftPlanner::draft(const Plan& plan) {
  const std::vector<Step>& steps = plan.tree ? next_ : steps_;
  for (size_t i = 0; i < plan.steps; ++i) {
    WidthChoice& choice = open_[steps[i].seat]->choice;
    choice.nodes += plan.tree ? limits_.nodes : 1;
    choice.why = plan.tree ? kTreePays : kPays;
    choice.expected = plan.gain;
  }
  for (DraftSeat* seat : open_) seat->history->decide(seat->choice);
  if (plan.steps > 0) planned_s_ = seconds(plan.pass);
}

// Whether drafts would beat plain rounds if they always hit.
bool DraftPlanner::could_pay() const {
  Pass pass{.calls = static_cast<int>(open_.size())};
  for (int depth = 1; depth <= limits_.depth; ++depth) {
    for (const DraftSeat* seat : open_) pass.nodes += seat->room >= depth ? 1 : 0;
    const double gain =
        static_cast<double>(seats_ + pass.nodes) / seats_ * plain_s_ / seconds(pass);
    if (gain > kWorthStarting) return true;
  }
  return false;
}

// The request without a draft that has drafted least recently, those that never did first.
DraftSeat* DraftPlanner::longest_without() const {
  DraftSeat* found = nullptr;
  const auto before = [](const DraftSeat& a, const DraftSeat& b) {
    const bool fresh = a.history->drafted_rounds() == 0;
    if (fresh != (b.history->drafted_rounds() == 0)) return fresh;
    return a.history->rounds_without() > b.history->rounds_without();
  };
  for (DraftSeat* seat : open_)
    if (seat->choice.nodes == 0 && seat->history->may_look() &&
        (found == nullptr || before(*seat, *found)))
      found = seat;
  return found;
}

// Drafts narrowly for a request for which it does not seem to pay, beside the others.
void DraftPlanner::look(const Pass& beside) {
  if (quiet_ > 0) {
    --quiet_;
    return;
  }
  DraftSeat* seat = longest_without();
  if (seat == nullptr || !could_pay()) return;
  const int nodes = std::min({kLookWidth, seat->room, limits_.depth});
  Pass with = beside;
  ++with.calls;
  with.nodes += nodes;
  double extra = seconds(with) - seconds(beside);
  if (costs_.intake.any() && seat->waiting > limits_.depth + 1)
    extra += costs_.intake.at(static_cast<int>(std::min<int64_t>(seat->waiting, kMostWaiting)));
  if (extra / plain_s_ > costs_.credit) return;
  planned_s_ = seconds(beside) + extra;
  if (!ever_hit_ && misses_ >= kFreeMisses)
    quiet_ = kFirstGap << std::min(misses_ - kFreeMisses, kMostDoublings);
  seat->choice = {.nodes = nodes, .depth = limits_.depth, .why = "probe"};
  seat->history->look();
}

void DraftPlanner::record(const RoundCost& round) {
  if (round.rows > 0) costs_.verify.add(round.rows, round.verify_s);
  if (round.rows > 0 && planned_s_ > 0)
    charge(std::min(round.verify_s + round.draft_s, kMostStall * planned_s_) / plain_s_ - 1);
  if (round.calls == 0 || round.mixed) return;
  CostCurve& curve = (round.tree ? costs_.tree : costs_.chain).of(round.calls);
  const bool steady = round.waiting <= int64_t{round.calls} * (limits_.depth + 1);
  if (steady || !curve.any() || round.draft_s < curve.at(round.nodes)) {
    curve.add(round.nodes, round.draft_s);
    return;
  }
  const auto rows = std::min<int64_t>(round.waiting, kMostWaiting);
  costs_.intake.add(static_cast<int>(rows), round.draft_s - curve.at(round.nodes));
}

void DraftPlanner::record(DraftHistory& history, const DraftOutcome& draft) {
  history.record(draft, experience_);
  if (draft.accepted > 0) {
    misses_ = 0;
    quiet_ = 0;
    ever_hit_ = true;
  } else {
    ++misses_;
  }
  // A plain round makes a token for every seat.
  if (history.automatic() && seats_ > 0) charge(-static_cast<double>(draft.accepted) / seats_);
}

void DraftPlanner::charge(double rounds) {
  costs_.credit = std::clamp(costs_.credit - rounds, 0.0, RoundCosts::kMostCredit);
}

}  // namespace spindrift
