#include "nn/kv_cache.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "core/aligned.h"
#include "core/bf16.h"
#include "core/check.h"

namespace spindrift::nn {
namespace {

constexpr size_t kMaxSpareBlocks = 2;

void store(std::span<const float> from, DType dtype, std::byte* to) {
  if (dtype == DType::kF32) {
    std::memcpy(to, from.data(), from.size_bytes());
    return;
  }
  for (size_t i = 0; i < from.size(); ++i) {
    const uint16_t bits = bf16_from_float(from[i]);
    std::memcpy(to + 2 * i, &bits, 2);
  }
}

}  // namespace

// Slot n holds position n once that is committed. Staged row r waits in slot committed + r, past
// everything committed: a chain is committed by counting it, a branch by moving its rows down.
// Blocks are [kv_heads][kBlockPositions][head_dim], keys and values apart.
struct KvCache::State {
  using Block = KvBlock;
  using BlockPtr = std::shared_ptr<KvBlock>;

  KvShape shape;
  int64_t head_bytes = 0;   // one head of one position
  int64_t block_bytes = 0;  // keys (or values) of one block
  Position committed = 0;
  Position first = 0;  // every committed position >= first is held
  Position base = 0;   // slot that blocks[0] starts with
  Position keep = std::numeric_limits<Position>::max();  // blocks from here on are not recycled
  std::vector<BlockPtr> blocks;                          // consecutive
  std::vector<BlockPtr> spare;                           // given up, ready for use; of nobody else
  int64_t staged_rows = 0;

  // The oldest position that a query at q sees.
  Position oldest_seen(Position q) const {
    return shape.window == 0 ? 0 : std::max<Position>(0, q - shape.window + 1);
  }

  Position end() const { return base + static_cast<Position>(blocks.size()) * kBlockPositions; }

  const Block& block_of(Position slot) const {
    return *blocks[static_cast<size_t>((slot - base) / kBlockPositions)];
  }
  int64_t offset(int64_t head, Position slot) const {
    return (head * kBlockPositions + (slot - base) % kBlockPositions) * head_bytes;
  }

  BlockPtr fresh_block() {
    if (spare.empty())
      return std::make_shared<KvBlock>(KvBlock{aligned_bytes(static_cast<size_t>(block_bytes)),
                                               aligned_bytes(static_cast<size_t>(block_bytes))});
    BlockPtr block = std::move(spare.back());
    spare.pop_back();
    return block;
  }

  void grow_to(Position slots) {
    while (end() < slots) blocks.push_back(fresh_block());
  }

  // Makes the slots from `committed` on writable: after going back, others may hold their block.
  void own_tail() {
    if (end() <= committed) return;
    BlockPtr& tail = blocks[static_cast<size_t>((committed - base) / kBlockPositions)];
    if (tail.use_count() == 1) return;
    BlockPtr copy = fresh_block();
    std::memcpy(copy->keys.get(), tail->keys.get(), static_cast<size_t>(block_bytes));
    std::memcpy(copy->values.get(), tail->values.get(), static_cast<size_t>(block_bytes));
    tail = std::move(copy);
  }

  void give_up(BlockPtr& block) {
    if (spare.size() < kMaxSpareBlocks && block.use_count() == 1)
      spare.push_back(std::move(block));
    else
      block.reset();
  }

  void drop_from(Position slot) {
    while (!blocks.empty() && end() - kBlockPositions >= slot) {
      give_up(blocks.back());
      blocks.pop_back();
    }
  }

  void recycle() { recycle_below(std::min({oldest_seen(committed), committed, keep})); }

  // Gives up whole blocks below `position`.
  void recycle_below(Position position) {
    const Position keep_from = position - position % kBlockPositions;
    if (keep_from <= base) return;
    const auto gone =
        std::min(static_cast<size_t>((keep_from - base) / kBlockPositions), blocks.size());
    for (size_t i = 0; i < gone; ++i) give_up(blocks[i]);
    blocks.erase(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(gone));
    base = keep_from;
    first = std::max(first, keep_from);
  }

  void move_slot(Position from, Position to) {
    const Block& source = block_of(from);
    const Block& target = block_of(to);
    const auto size = static_cast<size_t>(head_bytes);
    for (int64_t head = 0; head < shape.kv_heads; ++head) {
      std::memcpy(target.keys.get() + offset(head, to), source.keys.get() + offset(head, from),
                  size);
      std::memcpy(target.values.get() + offset(head, to), source.values.get() + offset(head, from),
                  size);
    }
  }

  // Appends `count` positions from `position` on, stored in consecutive slots from `slot` on.
  void append_segments(Position position, Position slot, int64_t count,
                       std::vector<kernels::KeySegment>& out) const {
    while (count > 0) {
      const Block& block = block_of(slot);
      const int64_t part = std::min(kBlockPositions - (slot - base) % kBlockPositions, count);
      out.push_back({.first = position,
                     .count = part,
                     .dtype = shape.dtype,
                     .keys = block.keys.get() + offset(0, slot),
                     .values = block.values.get() + offset(0, slot),
                     .position_stride = shape.head_dim,
                     .head_stride = kBlockPositions * shape.head_dim});
      position += part;
      slot += part;
      count -= part;
    }
  }
};

KvCache::KvCache(const KvShape& shape) : state_(std::make_unique<State>()) {
  SPINDRIFT_CHECK(shape.kv_heads > 0 && shape.head_dim > 0 && shape.window >= 0,
                  "a cache has heads of some size");
  SPINDRIFT_CHECK(shape.dtype == DType::kF32 || shape.dtype == DType::kBf16,
                  "keys are stored as f32 or bf16");
  state_->shape = shape;
  state_->head_bytes = shape.head_dim * dtype_bytes(shape.dtype);
  state_->block_bytes = shape.kv_heads * kBlockPositions * state_->head_bytes;
}

KvCache::~KvCache() = default;
KvCache::KvCache(KvCache&&) noexcept = default;
KvCache& KvCache::operator=(KvCache&&) noexcept = default;

const KvShape& KvCache::shape() const { return state_->shape; }
Position KvCache::committed() const { return state_->committed; }
int64_t KvCache::staged() const { return state_->staged_rows; }

void KvCache::stage(ConstRows k, ConstRows v) {
  State& s = *state_;
  const int64_t heads = s.shape.kv_heads, dim = s.shape.head_dim;
  SPINDRIFT_CHECK(k.cols() == heads * dim && v.cols() == heads * dim && k.rows() == v.rows(),
                  "staged rows have the cache's shape");
  s.own_tail();
  s.grow_to(s.committed + k.rows());
  s.staged_rows = k.rows();
  for (int64_t row = 0; row < k.rows(); ++row) {
    const Position slot = s.committed + row;
    const State::Block& block = s.block_of(slot);
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t to = s.offset(head, slot);
      const auto offset = static_cast<size_t>(head * dim), size = static_cast<size_t>(dim);
      store(k.row(row).subspan(offset, size), s.shape.dtype, block.keys.get() + to);
      store(v.row(row).subspan(offset, size), s.shape.dtype, block.values.get() + to);
    }
  }
}

void KvCache::visible(Position q, std::span<const RowIndex> path,
                      std::vector<kernels::KeySegment>& out) const {
  const State& s = *state_;
  const Position oldest = s.oldest_seen(q);
  SPINDRIFT_DCHECK(q == s.committed + static_cast<Position>(path.size()) - 1, "path ends at q");
  SPINDRIFT_CHECK(oldest >= s.first || oldest >= s.committed, "a seen position was recycled");
  // The current run of positions whose slots are neighbours; committed positions are one.
  Position position = oldest, slot = oldest;
  int64_t count = std::max<Position>(0, s.committed - oldest);
  for (size_t i = static_cast<size_t>(std::max<Position>(0, oldest - s.committed)); i < path.size();
       ++i) {
    SPINDRIFT_DCHECK(path[i] < s.staged_rows, "a path of staged rows");
    const Position next = s.committed + path[i];
    if (count == 0 || next != slot + count) {
      s.append_segments(position, slot, count, out);
      position = s.committed + static_cast<Position>(i);
      slot = next;
      count = 0;
    }
    ++count;
  }
  s.append_segments(position, slot, count, out);
}

void KvCache::commit(std::span<const RowIndex> path) {
  State& s = *state_;
  for (size_t i = 0; i < path.size(); ++i) {
    SPINDRIFT_CHECK(path[i] >= 0 && path[i] < s.staged_rows && (i == 0 || path[i] > path[i - 1]),
                    "a path of staged rows is committed");
    const auto to = s.committed + static_cast<Position>(i);
    if (s.committed + path[i] != to) s.move_slot(s.committed + path[i], to);
  }
  s.committed += static_cast<Position>(path.size());
  s.staged_rows = 0;
  s.recycle();
}

std::shared_ptr<KvBlock> KvCache::block(int64_t index) const {
  const State& s = *state_;
  const Position first = index * kBlockPositions;
  SPINDRIFT_CHECK(index >= 0 && first + kBlockPositions <= s.committed,
                  "a block that is committed");
  if (first < s.first || first < s.base) return nullptr;
  return s.blocks[static_cast<size_t>((first - s.base) / kBlockPositions)];
}

void KvCache::append(std::shared_ptr<KvBlock> block) {
  State& s = *state_;
  SPINDRIFT_CHECK(s.committed % kBlockPositions == 0, "blocks follow each other");
  s.staged_rows = 0;
  s.drop_from(s.committed);
  s.committed += kBlockPositions;
  if (block != nullptr) {
    if (s.blocks.empty()) s.base = s.committed - kBlockPositions;
    s.blocks.push_back(std::move(block));
    s.recycle();
    return;
  }
  s.drop_from(0);
  s.base = s.first = s.committed;
}

void KvCache::keep_from(Position first) {
  state_->keep = first;
  state_->recycle();
}

Position KvCache::oldest_seen(Position q) const { return state_->oldest_seen(q); }

Status KvCache::can_truncate(Position n) const {
  const State& s = *state_;
  SPINDRIFT_CHECK(n >= 0 && n <= s.committed, "truncate keeps a prefix");
  const Position oldest = s.oldest_seen(n);
  if (oldest >= s.first || oldest >= n) return ok_status();
  return Error{ErrorCode::kUnsupported,
               "cannot go back to position " + std::to_string(n) + ": the sliding window of " +
                   std::to_string(s.shape.window) + " keys has let go of positions below " +
                   std::to_string(s.first)};
}

Status KvCache::truncate(Position n) {
  SPINDRIFT_TRY_STATUS(can_truncate(n));
  State& s = *state_;
  s.staged_rows = 0;
  s.committed = n;
  s.drop_from(n);
  if (s.blocks.empty()) s.base = n - n % kBlockPositions;
  s.first = std::min(s.first, n);
  return ok_status();
}

int64_t KvCache::bytes() const {
  auto blocks = std::ssize(state_->spare);
  for (const State::BlockPtr& block : state_->blocks) blocks += block->keepers == 0 ? 1 : 0;
  return blocks * block_bytes();
}

int64_t KvCache::block_bytes() const { return 2 * state_->block_bytes; }

int64_t KvCache::bytes_at(Position n) const {
  const Position first = std::min(state_->oldest_seen(n), n) / kBlockPositions;
  return ((n + kBlockPositions - 1) / kBlockPositions - first) * block_bytes();
}

void KvCache::append_state(std::vector<std::byte>& out) const {
  const State& s = *state_;
  for (Position p = s.oldest_seen(s.committed); p < s.committed; ++p) {
    const State::Block& block = s.block_of(p);
    for (const AlignedBytes* side : {&block.keys, &block.values}) {
      for (int64_t head = 0; head < s.shape.kv_heads; ++head) {
        const std::byte* at = side->get() + s.offset(head, p);
        out.insert(out.end(), at, at + s.head_bytes);
      }
    }
  }
}

}  // namespace spindrift::nn
