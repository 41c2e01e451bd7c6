#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "drafters/drafter.h"
#include "drafters/mlp_speculator/forward.h"
#include "drafters/mlp_speculator/spread.h"

namespace spindrift::mlp_speculator {

// Drafts with an MLPSpeculator head (arXiv 2404.19124): from the target's newest row after its
// final norm and the token that follows it, a few small stages each add a token.
//
// A call's max_depth limits the stages that are run. A call with room for no more nodes than there
// are stages then gets the chain of best tokens, and so does every call when one candidate is kept.
// Any other call gets a tree: the best candidates of the stages' top_k in one prefix tree with the
// chain, which always stays whole; candidates that do not fit the room are dropped from the worst
// up. By its choice of room a width policy thus chooses between chain and tree.
class MlpSpeculatorDrafter final : public Drafter {
 public:
  // What the weights view must outlive this.
  MlpSpeculatorDrafter(Config config, Weights weights);

  std::string_view kind() const override { return "mlp_speculator"; }
  std::span<const Tap> taps() const override;
  // Stages of a chain, or the nodes that a tree can have.
  int max_nodes() const override { return max_nodes_; }
  int max_depth() const override { return model_.config.stages; }
  std::unique_ptr<DraftState> open() const override;
  Position first_seen(Position next) const override { return std::max<Position>(0, next - 1); }
  void observe(DraftState& state, const Accepted& rows, Workspace& ws,
               const Exec& ex) const override;
  void propose(std::span<const DraftCall> calls, Workspace& ws, const Exec& ex) const override;

  const Model& model() const { return model_; }

 private:
  int stages(const DraftCall& call) const;
  bool wants_tree(const DraftCall& call) const;
  // Tokens that are tried after each stage.
  std::span<const int> top_k(const DraftCall& call) const;

  Model model_;
  bool has_tree_;
  int max_nodes_;
  std::vector<int> chain_;  // top_k of a chain
};

// The chain and the candidates, in that order, as one prefix tree of at most max_nodes nodes. The
// chain is cut to that many; the first candidate that does not fit ends the tree.
void merge_paths(std::span<const TokenId> chain, std::span<const Candidate> candidates,
                 int max_nodes, DraftTree& tree);

}  // namespace spindrift::mlp_speculator
