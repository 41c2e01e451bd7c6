#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/draft_history.h"
#include "engine/draft_width.h"
#include "engine/round_costs.h"

namespace spindrift {

// A request that decodes in the next forward.
struct DraftSeat {
  DraftHistory* history = nullptr;
  int room = 0;             // draft tokens, by the drafter's maximum and the context
  int64_t tokens_left = 0;  // until the request's limit, the next token included
  int64_t waiting = 0;      // rows that its next draft takes in first
  WidthChoice choice;       // what was chosen
};

// A forward, and the drafting pass before it.
struct RoundCost {
  int rows = 0;         // of the forward; 0 = it read prompts, too
  int calls = 0;        // requests that were drafted for; 0 = there was no pass
  int nodes = 0;        // draft tokens asked for
  bool tree = false;    // of all of them, or ...
  bool mixed = false;   // ... of some
  int64_t waiting = 0;  // rows the pass took in first
  double draft_s = 0;
  double verify_s = 0;
};

// Chooses the drafts of all requests in a forward together: those that promise the most tokens per
// second, by what forwards of so many rows and drafting passes of so many tokens cost, and by how
// often each request's drafts hit. Where nothing pays it looks again now and then, at one request
// and two tokens, after growing gaps and for no more time than drafting has won before, or half a
// hundredth of all. It can change the speed only.
class DraftPlanner {
 public:
  // max_nodes: draft tokens in one forward.
  DraftPlanner(const DraftLimits& limits, RoundCosts costs, int64_t max_nodes);

  void choose(std::span<DraftSeat> seats);
  // After every forward: what it cost, ...
  void record(const RoundCost& round);
  // ... and every draft in it.
  void record(DraftHistory& history, const DraftOutcome& draft);
  const RoundCosts& costs() const { return costs_; }

 private:
  // Drafts beside each other in one pass.
  struct Pass {
    int calls = 0;
    int nodes = 0;
    bool tree = false;
    double first = 0;  // seconds a round, for rows that wait at first
  };
  // The most promising pass so far.
  struct Plan {
    size_t steps = 0;  // of steps_
    bool tree = false;
    double gain = 0;
    Pass pass = {};
  };
  void seat_fixed(std::span<DraftSeat> seats);
  bool learn();
  Plan best();
  void chains(Plan& plan);
  void trees(Plan& plan);
  void consider(const Pass& pass, double tokens, size_t steps, Plan& plan) const;
  void draft(const Plan& plan);
  void look(const Pass& beside);
  bool could_pay() const;
  double seconds(Pass pass) const;
  double first_seconds(const DraftSeat& seat) const;
  DraftSeat* longest_without() const;
  void charge(double rounds);

  const DraftLimits limits_;
  const int64_t max_nodes_;
  RoundCosts costs_;
  DraftExperience experience_;

  // Of the round that is being planned.
  std::vector<DraftSeat*> open_;  // for this planner to decide
  int seats_ = 0;
  Pass fixed_;
  double plain_s_ = 0;    // with fixed_ alone
  double planned_s_ = 0;  // with what was chosen for open_; 0 = nothing was
  struct Step {
    size_t seat = 0;  // of open_
    double reached = 0;
  };
  std::vector<Step> steps_;  // in the order of their promise
  std::vector<Step> next_;   // of each open seat
  std::vector<int> depths_;  // of each open seat

  bool on_ = false;
  int since_plain_ = 0;
  int learned_rows_ = 0, learned_plain_ = 0;
  int misses_ = 0;  // drafts in a row of which nothing was right
  bool ever_hit_ = false;
  int64_t quiet_ = 0;  // rounds without a look, while nothing has ever hit
};

}  // namespace spindrift
