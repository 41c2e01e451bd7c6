#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "drafters/dflash/forward.h"
#include "drafters/drafter.h"
#include "models/target_model.h"

namespace spindrift::dflash {

// Drafts a block of tokens in one pass: a row for the bonus token and one mask row for each drafted
// token, each attending to projected hidden states of the target and to the block rows before it.
// Source: DFlash (arXiv 2602.06036) in the form that Laguna's drafters have.
class DFlashDrafter final : public Drafter {
 public:
  // The target lends its embedding and head; it and what the weights view must outlive this.
  DFlashDrafter(Config config, Weights weights, const TargetModel& target);

  std::string_view kind() const override { return "dflash"; }
  std::span<const Tap> taps() const override { return taps_; }
  int max_nodes() const override { return model_.config.block_size - 1; }
  std::unique_ptr<DraftState> open() const override;
  Position first_seen(Position next) const override;
  void observe(DraftState& state, const Accepted& rows, Workspace& ws,
               const Exec& ex) const override;
  void propose(std::span<const DraftCall> calls, Workspace& ws, const Exec& ex) const override;

  // What every layer's keys and values are projected from: [rows, hidden]. taps[t]: [rows, hidden].
  // Valid until the workspace is used again.
  ConstRows context_rows(std::span<const ConstRows> taps, Workspace& ws, const Exec& ex) const;
  // The last layer's normed rows of every call's block, [sum of block_rows(call), hidden], in call
  // order; row 0 of a block is the bonus token's. Valid until the workspace is used again.
  ConstRows block_hidden(std::span<const DraftCall> calls, Workspace& ws, const Exec& ex) const;
  // Rows of a call's block: the bonus token and as many masks as it may propose; 0 when it may not
  // propose any.
  int64_t block_rows(const DraftCall& call) const;

 private:
  void norm_taps(std::span<const ConstRows> taps, Rows out, const Exec& ex) const;
  // Fills rows [0, sum of contexts) of x with the projected taps of the parts' waiting rows.
  void fill_context(std::span<const Part> parts, Rows x, const Exec& ex) const;
  // Projects waiting rows of one conversation until at most kContextRows remain.
  void catch_up(State& state, Workspace& ws, const Exec& ex) const;

  Model model_;
  const TargetModel& target_;
  std::vector<Tap> taps_;
};

}  // namespace spindrift::dflash
