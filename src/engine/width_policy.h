#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/types.h"
#include "engine/acceptance.h"
#include "engine/round_costs.h"

namespace spindrift {

// The user's word on drafting.
struct DraftWidth {
  enum class Mode : uint8_t { kAuto, kFixed, kOff } mode = Mode::kAuto;
  // kFixed: the longest path drafted in a round, clamped to the drafter's maximum.
  int tokens = 0;
  // kFixed: draft tokens a round on all paths; 0 = as many as `tokens`, a chain.
  int nodes = 0;
};

// What a drafter can propose in a round.
struct DraftLimits {
  int nodes = 0;  // 0 = there is no drafter
  int depth = 0;  // of the longest path
};

// Limits of one round.
struct WidthQuery {
  Position position = 0;    // of the bonus token
  int max_nodes = 0;        // the drafter's maximum and the room in the context
  int64_t tokens_left = 0;  // until the run's limit, the next token included
  int other_requests = 0;   // that decode in the same forward
};

struct WidthChoice {
  int nodes = 0;         // draft tokens to ask for, 0 = a plain round
  int depth = 0;         // and the longest path of them
  std::string_view why;  // a fixed phrase, for traces
  double expected = 0;   // tokens per second against a plain round's; 0 = not known
};

// What a round cost and brought. What was accepted is counted before any cut at a stop or limit.
struct RoundCost {
  int rows = 0;  // of the forward, other requests' included; 0 = it read prompts, too
  int drafted = 0;
  int depth = 0;  // of the longest path; less than `drafted` in a tree
  int accepted = 0;
  int accepted_first = 0;  // of them, on the path that the draft's first `depth` tokens make
  double draft_s = 0;
  double verify_s = 0;
};

// What an engine has learned about drafting from all its requests.
struct DraftExperience {
  RoundCosts costs;
  Acceptance chain, tree;
};

// Chooses how many tokens to draft, round by round, for one request. It can change the speed only.
class WidthPolicy {
 public:
  virtual ~WidthPolicy() = default;
  virtual WidthChoice choose(const WidthQuery& query) = 0;
  virtual void record(const RoundCost& round) = 0;
  // Why speculation was on, narrowed or off, in one sentence.
  virtual std::string decision() const = 0;
};

// `experience` is read and added to; it must outlive the policy.
std::unique_ptr<WidthPolicy> make_width_policy(const DraftWidth& width, const DraftLimits& limits,
                                               DraftExperience& experience);

}  // namespace spindrift
