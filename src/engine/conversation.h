#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/types.h"
#include "drafters/drafter.h"
#include "models/target_model.h"

namespace spindrift {

// The cached part of one conversation: keys and values of the target, the drafter's context, and
// the ids they stand for. It outlives a request, so the next turn reads only what is new. Target
// and drafter must outlive it.
class Conversation {
 public:
  // `drafter` may be null.
  Conversation(const TargetModel& target, const Drafter* drafter);

  const TargetModel& target() const { return *target_; }
  const Drafter* drafter() const { return drafter_; }
  // Ids whose keys and values are kept: positions 0, 1, ...
  const std::vector<TokenId>& tokens() const { return tokens_; }
  Position committed() const { return static_cast<Position>(tokens_.size()); }
  Sequence& sequence() { return *sequence_; }
  const Sequence& sequence() const { return *sequence_; }
  // The drafter's context; null while no request has drafted.
  DraftState* draft() { return draft_.get(); }
  int64_t bytes() const;

  // Makes this the cache of a prefix of `ids` and returns its length: the common prefix, short of
  // the last id (whose row is wanted anew), or 0 when the caches cannot be cut back to it. With
  // `drafting` the drafter's context covers the same prefix.
  Position reuse(std::span<const TokenId> ids, bool drafting);
  // Drops everything; the ids can be replayed.
  void reset();
  // Adds a block that other conversations share; the drafter's context does not follow.
  void append(const SharedBlock& block, std::span<const TokenId> ids);
  // A new context of the drafter; the first row it will be shown is the one at `first`.
  DraftState& restart_draft(Position first);
  // Commits rows of the last forward and takes their ids.
  void commit(std::span<const RowIndex> path, std::span<const TokenId> ids);

 private:
  bool cut_back(Position n, bool drafting);

  const TargetModel* target_;
  const Drafter* drafter_;
  std::unique_ptr<Sequence> sequence_;
  std::unique_ptr<DraftState> draft_;
  std::vector<TokenId> tokens_;
};

}  // namespace spindrift
