#include "engine/prefix_cache.h"

#include <utility>

#include "core/check.h"

namespace spindrift {

PrefixCache::~PrefixCache() {
  // One by one: a long conversation is a deep tree.
  std::vector<std::unique_ptr<Node>> nodes;
  const auto take_children = [&nodes](Node& node) {
    for (auto& [ids, child] : node.children) nodes.push_back(std::move(child));
  };
  take_children(root_);
  for (Node* node : order_) take_children(*node);
}

PrefixCache::Node* PrefixCache::find(const Node& at, std::span<const TokenId> ids) {
  const auto found = at.children.find(ids);
  return found == at.children.end() ? nullptr : found->second.get();
}

PrefixCache::Node* PrefixCache::add(Node& at, std::span<const TokenId> ids,
                                    std::unique_ptr<SharedBlock> block, TapRows taps,
                                    bool has_taps) {
  SPINDRIFT_CHECK(at.users > 0, "a block is added where a request is");
  if (Node* found = find(at, ids)) {
    touch(*found);
    complete(*found, std::move(block), std::move(taps), has_taps);
    return found;
  }
  const int64_t bytes = block->bytes() + taps.bytes();
  if (!make_room(bytes)) return nullptr;
  const auto [place, added] =
      at.children.emplace(std::vector<TokenId>(ids.begin(), ids.end()), std::make_unique<Node>());
  Node& node = *place->second;
  node.parent = &at;
  node.depth = at.depth + 1;
  node.block = std::move(block);
  node.taps = std::move(taps);
  node.has_taps = has_taps;
  node.ids = place->first;
  node.place = order_.insert(order_.end(), &node);
  bytes_ += bytes;
  return &node;
}

// Gives a node the parts that it has let go of or never had.
void PrefixCache::complete(Node& node, std::unique_ptr<SharedBlock> block, TapRows taps,
                           bool has_taps) {
  const bool better_block = block->whole() && !node.block->whole();
  const bool better_taps = has_taps && !node.has_taps;
  if (!better_block && !better_taps) return;
  const int64_t more =
      (better_block ? block->bytes() - node.block->bytes() : 0) + (better_taps ? taps.bytes() : 0);
  pin(node);
  if (make_room(more)) {
    bytes_ -= bytes_of(node);
    if (better_block) node.block = std::move(block);
    if (better_taps) {
      node.taps = std::move(taps);
      node.has_taps = true;
    }
    bytes_ += bytes_of(node);
  }
  unpin(node);
}

void PrefixCache::pin(Node& node) {
  for (Node* at = &node; at != nullptr; at = at->parent)
    if (at->users++ == 0 && at->block != nullptr) pinned_bytes_ += at->block->thin_bytes();
}

void PrefixCache::unpin(Node& node) {
  for (Node* at = &node; at != nullptr; at = at->parent) {
    SPINDRIFT_CHECK(at->users > 0, "pins are balanced");
    if (--at->users == 0 && at->block != nullptr) pinned_bytes_ -= at->block->thin_bytes();
  }
}

void PrefixCache::touch(Node& node) {
  for (Node* at = &node; at->parent != nullptr; at = at->parent)
    order_.splice(order_.end(), order_, at->place);
}

bool PrefixCache::evict() {
  const auto unused = std::find_if(order_.begin(), order_.end(), [](const Node* node) {
    return node->users == 0 && node->children.empty();
  });
  if (unused != order_.end()) {
    Node& node = **unused;
    bytes_ -= bytes_of(node);
    ++evictions_;
    order_.erase(unused);
    auto& siblings = node.parent->children;
    siblings.erase(siblings.find(node.ids));
    return true;
  }
  for (Node* node : order_) {
    if (bytes_of(*node) == node->block->thin_bytes()) continue;
    bytes_ -= bytes_of(*node);
    node->block->thin();
    if (!node->taps.values.empty()) {
      node->taps = {};
      node->has_taps = false;
    }
    bytes_ += bytes_of(*node);
    ++evictions_;
    return true;
  }
  return false;
}

int64_t PrefixCache::pinned_bytes(std::span<const TokenId> ids, Position block) const {
  int64_t bytes = 0;
  const Node* at = &root_;
  for (; std::ssize(ids) >= block; ids = ids.subspan(static_cast<size_t>(block))) {
    at = find(*at, ids.first(static_cast<size_t>(block)));
    if (at == nullptr || at->users == 0) break;
    bytes += at->block->thin_bytes();
  }
  return bytes;
}

bool PrefixCache::make_room(int64_t bytes) {
  if (bytes > limit_) return false;
  while (bytes_ + bytes > limit_)
    if (!evict()) return false;
  return true;
}

}  // namespace spindrift
