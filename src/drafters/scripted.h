#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "drafters/drafter.h"

namespace spindrift {

// One node of a scripted proposal. A hit proposes the token that truly comes at its depth, a miss
// another one. A hit behind a miss is right too late: nothing may accept it.
struct ScriptedNode {
  RowIndex parent = kRoot;
  bool hit = false;
};

// What one round proposes: nodes in topological order, at most one hit among siblings.
using ScriptedRound = std::vector<ScriptedNode>;

// A chain of `length` nodes of which the first `hits` are right.
ScriptedRound scripted_chain(int hits, int length);

// A conversation as a plain run produced it, prompt included: the token at every position.
using ReferenceIds = std::vector<TokenId>;

// Proposes what its script says: rounds are taken in order and repeated from the start. It knows
// what truly follows from references; a conversation that departs from all of them, or reaches the
// end of its own, gets no hits there and what cannot be known right or wrong is left out. Tells a
// conversation by its tokens, so it serves several at once.
//
// With an inner drafter it hands that one every call first and then replaces what it proposed: the
// cost of drafting stays, the acceptance is the script's.
class ScriptedDrafter final : public Drafter {
 public:
  // Token ids lie in [0, vocab), vocab >= 2. inner may be null; it must outlive this drafter.
  ScriptedDrafter(int64_t vocab, std::vector<ReferenceIds> references,
                  std::vector<ScriptedRound> rounds, const Drafter* inner = nullptr);

  std::string_view kind() const override { return "scripted"; }
  std::span<const Tap> taps() const override;
  int max_nodes() const override;  // of the largest round
  int max_depth() const override;  // of the deepest round
  std::unique_ptr<DraftState> open() const override;
  void observe(DraftState& state, const Accepted& rows, Workspace& ws,
               const Exec& ex) const override;
  void propose(std::span<const DraftCall> calls, Workspace& ws, const Exec& ex) const override;

 private:
  class State;
  void propose_round(State& state, const DraftCall& call) const;
  std::span<const TokenId> continuation(std::span<const TokenId> history) const;

  int64_t vocab_;
  std::vector<ReferenceIds> references_;
  std::vector<ScriptedRound> rounds_;
  const Drafter* inner_;
};

}  // namespace spindrift
