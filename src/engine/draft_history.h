#pragma once

#include <cstdint>
#include <string>

#include "engine/acceptance.h"
#include "engine/draft_width.h"

namespace spindrift {

// How drafts have fared, of one request or of all: the first path of a draft, and all of a tree.
struct DraftExperience {
  Acceptance chain, tree;
};

// What became of one draft. What was accepted is counted before any cut at a stop or limit.
struct DraftOutcome {
  int nodes = 0;
  int depth = 0;  // of the longest path; less than `nodes` in a tree
  int accepted = 0;
  int accepted_first = 0;  // of them, on the path that the draft's first `depth` tokens make
};

// What one request asks of drafting, and how its drafts have fared so far.
class DraftHistory {
 public:
  // limits.nodes = 0: there is no drafter.
  DraftHistory(const DraftWidth& asked, const DraftLimits& limits);

  bool automatic() const { return mode_ == DraftWidth::Mode::kAuto; }
  // Unless automatic(): the same in every round, but for the context's room.
  WidthChoice fixed(int room) const;

  // The share of this request's drafts that hit at a depth, from 1, if they were right up to it;
  // of a request that has not drafted yet, that of all.
  double chain_hit(int depth, const DraftExperience& all) const;
  double tree_hit(int depth, const DraftExperience& all) const;
  // A look: a narrow draft although none was found to pay. Makes what is known a hint.
  void look();
  // Whether the last one was long enough ago, by how many were of no use.
  bool may_look() const;

  // Drafting was found to pay, as `choice` has it, or not (no nodes).
  void decide(const WidthChoice& choice);
  void next_round() { ++rounds_without_; }
  void record(const DraftOutcome& draft, DraftExperience& all);
  int64_t drafted_rounds() const { return drafted_rounds_; }
  // Rounds since the last draft.
  int64_t rounds_without() const { return rounds_without_; }
  // Why drafting was on, narrowed or off, in one sentence.
  std::string decision() const;

 private:
  std::string fixed_decision() const;

  DraftWidth::Mode mode_;
  int asked_ = 0, depth_ = 0, nodes_ = 0;  // kFixed
  DraftExperience own_;
  int64_t drafted_rounds_ = 0, rounds_without_ = 0;
  bool on_ = false, looking_ = false;
  int useless_looks_ = 0;
  int64_t pauses_ = 0;
  double recent_accepted_ = 0;  // a round
  WidthChoice last_;            // that was on
};

}  // namespace spindrift
