#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/exec.h"
#include "core/result.h"
#include "core/rows.h"
#include "core/types.h"

namespace spindrift {

// Keys and values of consecutive positions of one conversation, of all layers, kept so that others
// may begin with them. What it holds is counted here, no longer by the sequences that hold it too.
class SharedBlock {
 public:
  virtual ~SharedBlock() = default;
  virtual int64_t bytes() const = 0;
  // Whether layers with a window have their part.
  virtual bool whole() const = 0;
  // Lets go of that part. A sequence that is not near the block does not need it.
  virtual void thin() = 0;
  // What bytes() is after thin().
  virtual int64_t thin_bytes() const = 0;
};

// All per-conversation state of a target: keys and values per layer.
class Sequence {
 public:
  virtual ~Sequence() = default;
  // Tokens whose keys and values are kept.
  virtual Position committed() const = 0;
  // Keeps these rows of the last forward, in order (a path from the root), and forgets the others.
  virtual void commit(std::span<const RowIndex> path) = 0;
  // Drops positions >= n. kUnsupported when a window has already let go of what a query at n sees.
  virtual Status truncate(Position n) = 0;
  virtual int64_t kv_bytes() const = 0;

  // Positions of a block that can be shared; 0 = this sequence shares nothing.
  virtual Position block_positions() const { return 0; }
  // Block `index` of the committed positions. A part that windows have let go of is missing.
  virtual std::unique_ptr<SharedBlock> share(int64_t /*index*/) const { return nullptr; }
  // Commits the positions of a block, where a block begins. Blocks that are not whole must come
  // before windowed_from() of where the sequence goes on.
  virtual void append(const SharedBlock& /*block*/) {}
  // The oldest position that a row at n sees in layers with a window; n when no layer has one.
  virtual Position windowed_from(Position n) const { return n; }
  // From now on windows let go of positions before `first` only.
  virtual void keep_from(Position /*first*/) {}
  // The least memory that n committed positions need.
  virtual int64_t bytes_at(Position /*n*/) const { return 0; }

  // Every byte that future rows can see, for tests of the rollback law.
  virtual std::vector<std::byte> state_bytes() const = 0;
};

enum class LogitRows : uint8_t { kNone, kLast, kAll };

// The rows of one sequence in a forward. parents[i] < i is the row seen just before row i, kRoot =
// the last committed token; position(i) = committed + depth(i). Row i attends to visible committed
// keys, its ancestors and itself; siblings are invisible. A chain has parents {-1, 0, 1, ...};
// empty parents mean a chain.
struct SeqRows {
  Sequence* seq = nullptr;
  std::span<const TokenId> tokens;
  std::span<const RowIndex> parents = {};
  LogitRows logits = LogitRows::kAll;
};

// A hidden state to record: the residual stream after a layer's second residual add, or the row
// after the final norm.
struct Tap {
  enum class Kind : uint8_t { kAfterLayer, kFinalNorm } kind = Kind::kAfterLayer;
  int layer = 0;
  friend bool operator==(const Tap&, const Tap&) = default;
};

struct ForwardOptions {
  std::span<const Tap> taps = {};
};

// logits: [logit rows in batch order, vocab]. taps[t]: [all rows of the batch in order, hidden].
// Valid until the workspace's next forward.
struct ForwardResult {
  ConstRows logits;
  std::span<const ConstRows> taps;
};

struct ModelInfo {
  int64_t vocab = 0;
  int64_t hidden = 0;
  int layers = 0;
  Position max_context = 0;
};

// Base of typed scratch that a Workspace keeps.
struct WorkspaceItem {
  virtual ~WorkspaceItem() = default;
};

// Scratch that is reused from one forward to the next; one per engine thread.
class Workspace {
 public:
  // At least `floats` floats under `slot`; contents undefined.
  std::span<float> floats(size_t slot, int64_t floats) {
    AlignedFloats& b = buffers_.at(slot);
    if (b.size() < static_cast<size_t>(floats)) b.resize(static_cast<size_t>(floats));
    return {b.data(), static_cast<size_t>(floats)};
  }
  Rows rows(size_t slot, int64_t rows, int64_t cols) {
    const int64_t stride = padded_columns(cols);
    return {floats(slot, rows * stride).data(), rows, cols, stride};
  }
  // The one object of type T (derived from WorkspaceItem), made on first use.
  template <class T>
  T& item() {
    for (const std::unique_ptr<WorkspaceItem>& item : items_)
      if (T* found = dynamic_cast<T*>(item.get())) return *found;
    items_.push_back(std::make_unique<T>());
    return static_cast<T&>(*items_.back());
  }
  std::vector<ConstRows> tap_views;

 private:
  std::vector<std::unique_ptr<WorkspaceItem>> items_;
  std::array<AlignedFloats, 64> buffers_;
};

// A target: const after load. Prefill, decode and tree verification are this one forward. Row law:
// the bits of a row depend on its token, position, ancestors and the weights, nothing else.
class TargetModel {
 public:
  virtual ~TargetModel() = default;
  virtual const ModelInfo& info() const = 0;
  virtual std::unique_ptr<Sequence> open() const = 0;
  // Token ids must lie in [0, vocab). Stages keys and values; the caller commits.
  virtual ForwardResult forward(std::span<const SeqRows> batch, const ForwardOptions& options,
                                Workspace& ws, const Exec& ex) const = 0;
  // Lent to drafters that own no embedding or head. out: [ids, hidden]; logits: [hidden rows,
  // vocab].
  virtual void embed(std::span<const TokenId> ids, Rows out) const = 0;
  virtual void lm_head(ConstRows hidden, Rows logits, const Exec& ex) const = 0;
};

}  // namespace spindrift
