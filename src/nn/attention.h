#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "core/types.h"
#include "nn/kv_cache.h"

namespace spindrift::nn {

// Positions and ancestor paths of one sequence's rows in a forward, derived once and used by every
// layer. paths(i) = row i's ancestors from the oldest to itself.
class RowPaths {
 public:
  // parents empty = chain. committed = position of the first child of the root.
  RowPaths(Position committed, int64_t rows, std::span<const RowIndex> parents);
  int64_t rows() const;
  std::span<const Position> positions() const;
  std::span<const RowIndex> path(int64_t row) const;

 private:
  std::vector<Position> positions_;
  std::vector<RowIndex> indices_;  // a chain stores one list and every path is a prefix of it
  std::vector<int64_t> offsets_, lengths_;
};

// The attention rows of one sequence: q, out are [rows, heads * head_dim] slices of the batch.
struct AttentionPart {
  const KvCache* cache = nullptr;  // holds the staged keys of these rows
  const RowPaths* paths = nullptr;
  ConstRows q;
  Rows out;
};

// Attention of every row over what its cache lets it see, threads over (part, KV head, block of
// rows). sinks: empty or one logit a query head.
void attention(std::span<const AttentionPart> parts, int64_t heads, float scale,
               std::span<const float> sinks, const Exec& ex);

}  // namespace spindrift::nn
