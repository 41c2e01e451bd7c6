#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "core/types.h"
#include "drafters/drafter.h"
#include "engine/conversation.h"
#include "engine/prefix_cache.h"

namespace spindrift {

// One request's way along a prefix cache: it begins with the blocks that are kept, adds those that
// it commits, and holds on to the ones it is on. By the row law a kept block has the bits that
// reading its ids again would give.
class PrefixLease {
 public:
  // `cache` may be null: then nothing is found or kept. Both must outlive this.
  PrefixLease(PrefixCache* cache, const Drafter* drafter) : cache_(cache), drafter_(drafter) {}
  ~PrefixLease() { release(); }
  PrefixLease(const PrefixLease&) = delete;
  PrefixLease& operator=(const PrefixLease&) = delete;

  // Starts an empty conversation with the longest kept prefix of `ids`, short of the last id. With
  // `drafting` the drafter's context covers it too.
  void begin(Conversation& conversation, std::span<const TokenId> ids, bool drafting, Workspace& ws,
             const Exec& ex);
  // Continues it with what others have added in the meantime; at any time, cheap when nothing was.
  void extend(Conversation& conversation, std::span<const TokenId> ids, bool drafting,
              Workspace& ws, const Exec& ex);
  // Whether the block that this request reads next is the one that `other` is about to add.
  bool waits_for(const PrefixLease& other, std::span<const TokenId> ids,
                 std::span<const TokenId> other_ids, Position committed) const;
  // Adds blocks that the last commit has filled. `taps`: this request's rows of the forward, of
  // which those of `path` were committed; empty when none were recorded.
  void add(Conversation& conversation, std::span<const ConstRows> taps,
           std::span<const RowIndex> path);
  void release();
  int64_t bytes() const { return filling_.bytes(); }

 private:
  using Node = PrefixCache::Node;

  Position at_position() const { return at_->depth * block_; }
  // The blocks kept for ids from the position of `at_` on, short of the last id.
  void look_up(std::span<const TokenId> ids);
  // How many of found_ a conversation that has read up to at_ can go on with.
  size_t usable(const Conversation& conversation, bool drafting) const;
  void take(size_t count, Conversation& conversation, bool drafting, Workspace& ws, const Exec& ex);
  void show_drafter(Conversation& conversation, Workspace& ws, const Exec& ex) const;
  void move_to(Node& node);
  void collect(Position position, std::span<const ConstRows> taps, RowIndex row);

  PrefixCache* cache_;
  const Drafter* drafter_;
  Node* at_ = nullptr;  // pinned; null = this request adds nothing more
  Position block_ = 0;
  TapRows filling_;            // of the block that follows at_
  bool filling_whole_ = true;  // no row that the drafter wants is missing from it
  std::vector<Node*> found_;
};

}  // namespace spindrift
