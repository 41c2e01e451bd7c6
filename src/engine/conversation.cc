#include "engine/conversation.h"

#include <algorithm>

#include "core/check.h"

namespace spindrift {

Conversation::Conversation(const TargetModel& target, const Drafter* drafter)
    : target_(&target), drafter_(drafter), sequence_(target.open()) {}

int64_t Conversation::bytes() const {
  return sequence_->kv_bytes() + (draft_ == nullptr ? 0 : draft_->bytes());
}

void Conversation::reset() {
  sequence_ = target_->open();
  draft_.reset();
  tokens_.clear();
}

Position Conversation::reuse(std::span<const TokenId> ids, bool drafting) {
  SPINDRIFT_CHECK(!ids.empty(), "a prompt has at least one id");
  SPINDRIFT_CHECK(!drafting || drafter_ != nullptr, "drafting needs a drafter");
  const auto [mine, theirs] = std::mismatch(tokens_.begin(), tokens_.end(), ids.begin(), ids.end());
  const Position common = std::min<Position>(mine - tokens_.begin(), std::ssize(ids) - 1);
  if (!cut_back(common, drafting)) reset();
  if (drafting && draft_ == nullptr) draft_ = drafter_->open();
  return committed();
}

bool Conversation::cut_back(Position n, bool drafting) {
  const Position drafted = draft_ == nullptr ? 0 : draft_->observed();
  if (drafting && drafted < n) return false;  // rows the drafter missed cannot be shown to it again
  if (drafted > n && !draft_->truncate(n).ok()) {
    if (drafting) return false;
    draft_.reset();
  }
  if (n < committed() && !sequence_->truncate(n).ok()) return false;
  tokens_.resize(static_cast<size_t>(n));
  return true;
}

void Conversation::append(const SharedBlock& block, std::span<const TokenId> ids) {
  sequence_->append(block);
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  SPINDRIFT_CHECK(sequence_->committed() == committed(), "one id a position");
}

DraftState& Conversation::restart_draft(Position first) {
  draft_ = drafter_->open();
  draft_->start_at(first);
  return *draft_;
}

void Conversation::commit(std::span<const RowIndex> path, std::span<const TokenId> ids) {
  SPINDRIFT_CHECK(path.size() == ids.size(), "one id a committed row");
  sequence_->commit(path);
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
}

}  // namespace spindrift
