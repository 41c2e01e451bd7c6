#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/dtype.h"
#include "core/result.h"
#include "core/rows.h"
#include "core/types.h"
#include "kernels/contract.h"

namespace spindrift::nn {

struct KvShape {
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  Position window = 0;        // keys a query sees, itself included; 0 = all
  DType dtype = DType::kF32;  // kF32 or kBf16: what is stored, staged rows included, so that
                              // staging equals committing
};

// Keys and values of KvCache::kBlockPositions consecutive positions of one layer. Once all of them
// are committed nobody writes to it, so several sequences may hold it.
struct KvBlock {
  AlignedBytes keys, values;
  int keepers = 0;  // who count its memory; 0 = the caches that hold it
};

// Keys and values of one layer of one sequence: rows are staged by a forward, attended to, then
// some of them committed. Nothing speculative is ever written where it must be erased. Storage is
// blocks of positions, head-major inside a block; it grows with use, and blocks that every future
// query is too far from are recycled.
class KvCache {
 public:
  // A multiple of 16: blocks end where attention's lanes end.
  static constexpr Position kBlockPositions = 64;

  explicit KvCache(const KvShape& shape);
  ~KvCache();
  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;

  const KvShape& shape() const;
  Position committed() const;
  // Replaces the staged rows. k, v: [rows, kv_heads * head_dim]; row i = i-th row of this sequence
  // in the forward.
  void stage(ConstRows k, ConstRows v);
  int64_t staged() const;
  // Appends to `out` the keys that a query at position q sees, ascending: committed ones inside the
  // window, then the staged rows `path` (its ancestors and itself, ascending by depth; path.back()
  // stands at q). The only place where the window rule 0 <= q - p < window is written. Valid until
  // the next stage or commit.
  void visible(Position q, std::span<const RowIndex> path,
               std::vector<kernels::KeySegment>& out) const;
  // Appends these staged rows, in order, to the committed ones and forgets all staged rows.
  void commit(std::span<const RowIndex> path);
  // Drops committed positions >= n. kUnsupported when positions that a query at n sees have been
  // recycled.
  Status truncate(Position n);
  Status can_truncate(Position n) const;  // what truncate(n) would answer

  // Block `index`, positions [index, index + 1) * kBlockPositions, all committed; null when it was
  // recycled.
  std::shared_ptr<KvBlock> block(int64_t index) const;
  // Commits the positions of a block that another cache of this shape shares; committed() must be
  // where a block begins. Null: the positions count as recycled, as do those before them.
  void append(std::shared_ptr<KvBlock> block);
  // From now on only blocks before `first` are recycled.
  void keep_from(Position first);
  // The oldest position that a query at q sees.
  Position oldest_seen(Position q) const;

  int64_t bytes() const;               // memory held, without blocks that a keeper counts
  int64_t block_bytes() const;         // of one block
  int64_t bytes_at(Position n) const;  // the least that n committed positions need
  // The stored bytes of every committed position that a query at committed() sees, for tests of the
  // rollback law.
  void append_state(std::vector<std::byte>& out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spindrift::nn
