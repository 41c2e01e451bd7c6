#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/types.h"
#include "models/target_model.h"

namespace spindrift {

// Rows that a drafter is shown, of the last positions of a block: [rows, all taps side by side].
struct TapRows {
  int64_t rows = 0;
  std::vector<float> values;
  int64_t bytes() const { return static_cast<int64_t>(values.capacity() * sizeof(float)); }
};

// Blocks of conversations, kept for requests that begin with the same ids: a tree in which the path
// from the root spells the ids, so that what is found is what was asked for. Blocks that no running
// request is on are given up when room is needed, the longest unused first. For one thread.
class PrefixCache {
 public:
  struct Node {
    Node* parent = nullptr;  // null = the root, which holds nothing
    int64_t depth = 0;       // blocks from the start of the conversation, this one included
    std::unique_ptr<SharedBlock> block;
    TapRows taps;
    // Whether taps holds what a drafter wants of this block.
    bool has_taps = false;

    // What follows below is the cache's own.
    struct Less {
      using is_transparent = void;
      bool operator()(std::span<const TokenId> a, std::span<const TokenId> b) const {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
      }
    };
    std::map<std::vector<TokenId>, std::unique_ptr<Node>, Less> children;
    std::span<const TokenId> ids;  // the key in the parent's children
    int64_t users = 0;             // pins of this node and of what follows it
    std::list<Node*>::iterator place;
  };

  // Holds at most `limit` bytes.
  explicit PrefixCache(int64_t limit) : limit_(limit) {}
  ~PrefixCache();
  PrefixCache(const PrefixCache&) = delete;
  PrefixCache& operator=(const PrefixCache&) = delete;

  Node* root() { return &root_; }
  // The block that follows `at` with these ids, or null.
  static Node* find(const Node& at, std::span<const TokenId> ids);
  // Adds a block after `at`, or completes the one that is there; null when there is no room for it.
  // `at` must be pinned.
  Node* add(Node& at, std::span<const TokenId> ids, std::unique_ptr<SharedBlock> block,
            TapRows taps, bool has_taps);
  // A pinned node and what leads to it stay; their parts for windows and drafters may be given up.
  void pin(Node& node);
  void unpin(Node& node);
  // Counts as used now, with what leads to it.
  void touch(Node& node);
  // Gives up one block or a part of one; false when nothing is left that could be.
  bool evict();

  int64_t bytes() const { return bytes_; }
  // Of bytes(): what cannot be given up while its users run.
  int64_t pinned_bytes() const { return pinned_bytes_; }
  // Of pinned_bytes(): those of the blocks that `ids` begin with, `block` ids each.
  int64_t pinned_bytes(std::span<const TokenId> ids, Position block) const;
  int64_t evictions() const { return evictions_; }

 private:
  static int64_t bytes_of(const Node& node) { return node.block->bytes() + node.taps.bytes(); }
  bool make_room(int64_t bytes);
  void complete(Node& node, std::unique_ptr<SharedBlock> block, TapRows taps, bool has_taps);

  int64_t limit_;
  int64_t bytes_ = 0;
  int64_t pinned_bytes_ = 0;
  int64_t evictions_ = 0;
  std::list<Node*> order_;  // all but the root, the longest unused first
  Node root_;
};

}  // namespace spindrift
