#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/ledger.h"

namespace spindrift::testing {

// What one run of a request left behind: its ledger, line for line, and the outcome.
struct Recorded {
  std::vector<std::string> ledger;
  std::vector<bool> drafted;
  std::vector<std::string> pieces;
  std::vector<std::string> trace;
  std::vector<std::pair<int, int>> accepted_emitted;
  Outcome outcome;
  bool finished = false;
};

class Recorder final : public RequestListener {
 public:
  void on_token(const TokenEvent& t) override {
    run.ledger.push_back(ledger_line(t.index, t.id, t.logits_hash));
    run.drafted.push_back(t.drafted);
  }
  void on_text(std::string_view piece, bool) override { run.pieces.emplace_back(piece); }
  void on_round(const RoundRecord& r) override {
    run.trace.push_back(to_json(r));
    run.accepted_emitted.emplace_back(r.accepted, r.emitted);
  }
  void on_finish(Outcome outcome) override {
    run.outcome = std::move(outcome);
    run.finished = true;
  }
  Recorded run;
};

}  // namespace spindrift::testing
