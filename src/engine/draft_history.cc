#include "engine/draft_history.h"

#include <algorithm>
#include <cmath>

#include "core/plural.h"

namespace spindrift {
namespace {

constexpr double kChainGuess = 0.9;  // hits of a chain nothing is known of: one look is cheap
constexpr double kTreeGuess = 0.35;  // and of what a chain misses, a tree's
constexpr int kFreeLooks = 3;        // in a row, before gaps grow
constexpr int64_t kFirstGap = 8, kLongestGap = 512;
constexpr double kStale = 2;      // rounds that what led to a pause counts for at a look
constexpr double kOthers = 8;     // and what other requests saw, at a request's first draft
constexpr double kRecent = 0.15;  // the newest round's part of a recent mean

std::string tenths(double x) {
  const auto n = static_cast<int64_t>(std::lround(x * 10));
  return std::to_string(n / 10) + '.' + std::to_string(n % 10);
}

DraftWidth::Mode mode_of(const DraftWidth& asked, const DraftLimits& limits) {
  const bool none =
      limits.nodes == 0 || (asked.mode == DraftWidth::Mode::kFixed && asked.tokens == 0);
  return none ? DraftWidth::Mode::kOff : asked.mode;
}

}  // namespace

DraftHistory::DraftHistory(const DraftWidth& asked, const DraftLimits& limits)
    : mode_(mode_of(asked, limits)) {
  if (mode_ != DraftWidth::Mode::kFixed) return;
  asked_ = asked.tokens;
  depth_ = std::min(asked.tokens, limits.depth);
  nodes_ = asked.nodes == 0 ? depth_ : std::min(asked.nodes, limits.nodes);
}

// A last round drafts past the token limit as any other and is cut.
WidthChoice DraftHistory::fixed(int room) const {
  if (mode_ == DraftWidth::Mode::kOff) return {.why = "off"};
  const int nodes = std::min(nodes_, room);
  return {.nodes = nodes, .depth = depth_, .why = nodes < nodes_ ? "fixed, context ends" : "fixed"};
}

double DraftHistory::chain_hit(int depth, const DraftExperience& all) const {
  return (drafted_rounds_ > 0 ? own_ : all).chain.hit(depth, kChainGuess);
}

// A tree holds the chain and more.
double DraftHistory::tree_hit(int depth, const DraftExperience& all) const {
  const double alone = chain_hit(depth, all);
  const Acceptance& tree = (drafted_rounds_ > 0 ? own_ : all).tree;
  return std::max(alone, tree.hit(depth, alone + kTreeGuess * (1 - alone)));
}

void DraftHistory::look() {
  looking_ = true;
  own_.chain.fade(kStale);
  own_.tree.fade(kStale);
}

bool DraftHistory::may_look() const {
  if (useless_looks_ < kFreeLooks) return true;
  return rounds_without_ >=
         std::min(kFirstGap << std::min(useless_looks_ - kFreeLooks, 20), kLongestGap);
}

void DraftHistory::decide(const WidthChoice& choice) {
  const bool on = choice.nodes > 0;
  if (!on && (on_ || pauses_ == 0)) ++pauses_;
  on_ = on;
  if (!on) return;
  last_ = choice;
  useless_looks_ = 0;
}

void DraftHistory::record(const DraftOutcome& draft, DraftExperience& all) {
  if (drafted_rounds_ == 0) {
    own_ = all;
    own_.chain.fade(kOthers);
    own_.tree.fade(kOthers);
  }
  const bool is_tree = draft.depth < draft.nodes;
  for (DraftExperience* seen : {&own_, &all}) {
    seen->chain.add(draft.depth, is_tree ? draft.accepted_first : draft.accepted);
    if (is_tree) seen->tree.add(draft.depth, draft.accepted);
  }
  if (looking_) useless_looks_ = draft.accepted < draft.depth ? useless_looks_ + 1 : 0;
  looking_ = false;
  ++drafted_rounds_;
  rounds_without_ = 0;
  recent_accepted_ += (draft.accepted - recent_accepted_) *
                      std::max(kRecent, 1.0 / static_cast<double>(drafted_rounds_));
}

std::string DraftHistory::fixed_decision() const {
  std::string text = "fixed: " + counted(nodes_, "draft token") + " a round";
  if (nodes_ > depth_) text += " at most, in a tree " + std::to_string(depth_) + " deep";
  text += ", as asked";
  if (depth_ < asked_) text += ", clamped to the drafter's maximum";
  return text;
}

std::string DraftHistory::decision() const {
  if (mode_ == DraftWidth::Mode::kOff) return "off: asked for";
  if (mode_ == DraftWidth::Mode::kFixed) return fixed_decision();
  constexpr std::string_view kOff = "auto: off, a plain round makes more tokens per second";
  if (drafted_rounds_ == 0)
    return pauses_ > 0 ? std::string(kOff) + ", as earlier ones tell"
                       : "auto: no round had room to draft";
  const std::string text =
      "; recent drafts brought " + tenths(recent_accepted_) + " tokens" +
      (pauses_ > 0 ? "; paused " + std::to_string(pauses_) + " times" : std::string());
  if (!on_) return std::string(kOff) + text;
  const bool tree = last_.nodes > last_.depth;
  return "auto: on at width " + std::to_string(last_.nodes) + (tree ? ", a tree" : "") +
         ", expecting " + tenths(last_.expected) + " times plain" + text;
}

}  // namespace spindrift
