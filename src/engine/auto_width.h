#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/acceptance.h"
#include "engine/width_policy.h"

namespace spindrift {

// Takes, round by round, what promises the most tokens per second: no draft, a chain of some
// length, or the drafter's whole tree, by what rounds of that size cost and how often drafts hit at
// each depth. Where nothing pays, drafting pauses and is probed, narrow, after growing gaps that
// keep the probes' cost near a hundredth. A drafter that never hits at first is given up.
class AutoWidth final : public WidthPolicy {
 public:
  AutoWidth(const DraftLimits& limits, DraftExperience& experience);

  WidthChoice choose(const WidthQuery& query) override;
  void record(const RoundCost& round) override;
  std::string decision() const override;

 private:
  WidthChoice chain(int nodes, std::string_view why) const;
  bool learning(const WidthQuery& query, int room, WidthChoice& choice);
  WidthChoice best(const WidthQuery& query, int room) const;
  void consider(const WidthChoice& candidate, double tokens, const WidthQuery& query,
                WidthChoice& best) const;
  double seconds(const WidthChoice& choice, const WidthQuery& query) const;
  double tree_hit(int depth) const;
  bool could_pay() const;
  WidthChoice pause(const WidthQuery& query);

  DraftLimits limits_;
  DraftExperience& experience_;
  Acceptance chain_, tree_;  // of this request
  int drafted_rounds_ = 0, accepted_ = 0;
  double recent_accepted_ = 0;  // a round
  int learned_plain_ = 0;
  bool on_ = false, probing_ = false, given_up_ = false;
  int pause_ = 0, gap_, probes_ = 0, pauses_ = 0, since_plain_ = 0;
  WidthChoice last_;
};

}  // namespace spindrift
