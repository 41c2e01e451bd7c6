#include "engine/prefix_lease.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/check.h"

namespace spindrift {

void PrefixLease::begin(Conversation& conversation, std::span<const TokenId> ids, bool drafting,
                        Workspace& ws, const Exec& ex) {
  release();
  block_ = conversation.sequence().block_positions();
  if (cache_ == nullptr || block_ == 0) return;
  SPINDRIFT_CHECK(conversation.committed() == 0, "an empty conversation");
  at_ = cache_->root();
  cache_->pin(*at_);
  extend(conversation, ids, drafting, ws, ex);
  conversation.sequence().keep_from(at_position());
}

void PrefixLease::extend(Conversation& conversation, std::span<const TokenId> ids, bool drafting,
                         Workspace& ws, const Exec& ex) {
  if (at_ == nullptr || conversation.committed() != at_position()) return;
  look_up(ids);
  take(usable(conversation, drafting), conversation, drafting, ws, ex);
}

void PrefixLease::look_up(std::span<const TokenId> ids) {
  found_.clear();
  const Node* last = at_;
  for (Position from = at_position(); from + block_ < std::ssize(ids); from += block_) {
    Node* next = PrefixCache::find(
        *last, ids.subspan(static_cast<size_t>(from), static_cast<size_t>(block_)));
    if (next == nullptr) return;
    found_.push_back(next);
    last = next;
  }
}

size_t PrefixLease::usable(const Conversation& conversation, bool drafting) const {
  const auto wants = [&](const Node& node, Position next) {
    const Position end = node.depth * block_;
    const Position windowed = conversation.sequence().windowed_from(next);
    // What the conversation has read itself it has whole.
    if (node.depth > at_->depth && end > windowed && !node.block->whole()) return false;
    return !drafting || end <= drafter_->first_seen(next) || node.has_taps;
  };
  for (size_t count = found_.size(); count > 0; --count) {
    const Position next = found_[count - 1]->depth * block_;
    bool good = true;
    for (const Node* node = found_[count - 1]; good && node->parent != nullptr; node = node->parent)
      good = wants(*node, next);
    if (good) return count;
  }
  return 0;
}

void PrefixLease::take(size_t count, Conversation& conversation, bool drafting, Workspace& ws,
                       const Exec& ex) {
  if (count == 0) return;
  for (size_t i = 0; i < count; ++i) conversation.append(*found_[i]->block, found_[i]->ids);
  move_to(*found_[count - 1]);
  cache_->touch(*at_);
  conversation.sequence().keep_from(at_position());
  if (drafting) show_drafter(conversation, ws, ex);
}

void PrefixLease::show_drafter(Conversation& conversation, Workspace& ws, const Exec& ex) const {
  const Position next = conversation.committed();
  const Position first = drafter_->first_seen(next);
  DraftState& state = conversation.restart_draft(first);
  std::vector<const Node*> nodes;
  for (const Node* node = at_; node->parent != nullptr && node->depth * block_ > first;
       node = node->parent)
    nodes.push_back(node);
  const int64_t taps = std::ssize(drafter_->taps());
  std::vector<ConstRows> shown;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const TapRows& kept = (*node)->taps;
    const Position end = (*node)->depth * block_;
    const Position from = state.observed();
    SPINDRIFT_CHECK(end - kept.rows <= from, "rows that a drafter sees are kept");
    shown.clear();
    const int64_t width = kept.rows == 0 ? 0 : std::ssize(kept.values) / kept.rows;
    const ConstRows all(kept.values.data(), kept.rows, width);
    for (int64_t t = 0; t < taps; ++t)
      shown.push_back(all.columns(t * (width / taps), width / taps)
                          .slice(kept.rows - (end - from), end - from));
    const std::span<const TokenId> ids =
        std::span(conversation.tokens())
            .subspan(static_cast<size_t>(from), static_cast<size_t>(end - from));
    drafter_->observe(state, {.first = from, .tokens = ids, .taps = shown}, ws, ex);
  }
}

bool PrefixLease::waits_for(const PrefixLease& other, std::span<const TokenId> ids,
                            std::span<const TokenId> other_ids, Position committed) const {
  if (at_ == nullptr || at_ != other.at_ || committed != at_position()) return false;
  const Position end = committed + block_;
  if (end >= std::ssize(ids) || end > std::ssize(other_ids)) return false;
  return std::equal(ids.begin() + committed, ids.begin() + end, other_ids.begin() + committed);
}

void PrefixLease::add(Conversation& conversation, std::span<const ConstRows> taps,
                      std::span<const RowIndex> path) {
  if (at_ == nullptr) return;
  Sequence& sequence = conversation.sequence();
  const Position first = conversation.committed() - std::ssize(path);
  for (size_t i = 0; i < path.size(); ++i) {
    const Position position = first + static_cast<Position>(i);
    collect(position, taps, path[i]);
    if ((position + 1) % block_ != 0) continue;
    const std::span<const TokenId> ids =
        std::span(conversation.tokens())
            .subspan(static_cast<size_t>(at_position()), static_cast<size_t>(block_));
    Node* added = cache_->add(*at_, ids, sequence.share(at_->depth), std::exchange(filling_, {}),
                              std::exchange(filling_whole_, true));
    if (added == nullptr) {
      release();
      sequence.keep_from(std::numeric_limits<Position>::max());
      return;
    }
    move_to(*added);
  }
  sequence.keep_from(at_position());
}

// Keeps the tap row of a committed position if a draft after its block can see it.
void PrefixLease::collect(Position position, std::span<const ConstRows> taps, RowIndex row) {
  if (drafter_ == nullptr) return;
  const Position end = position - position % block_ + block_;
  if (position < drafter_->first_seen(end)) return;
  if (taps.size() != drafter_->taps().size()) {
    filling_whole_ = false;
    return;
  }
  if (filling_.rows++ == 0) {
    int64_t width = 0;
    for (const ConstRows& tap : taps) width += tap.cols();
    filling_.values.reserve(static_cast<size_t>((end - position) * width));
  }
  for (const ConstRows& tap : taps) {
    const std::span<const float> values = tap.row(row);
    filling_.values.insert(filling_.values.end(), values.begin(), values.end());
  }
}

void PrefixLease::move_to(Node& node) {
  cache_->pin(node);
  cache_->unpin(*at_);
  at_ = &node;
}

void PrefixLease::release() {
  if (at_ == nullptr) return;
  if (at_->parent != nullptr) cache_->touch(*at_);
  cache_->unpin(*at_);
  at_ = nullptr;
  filling_ = {};
  filling_whole_ = true;
}

}  // namespace spindrift
