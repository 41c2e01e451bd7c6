#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/exec.h"
#include "core/rows.h"
#include "core/types.h"
#include "models/batch.h"
#include "models/target_model.h"
#include "nn/linear.h"

// Steps that the forward of every decoder has.
namespace spindrift {

// out[i] = row ids[i] of `table`, in which the ids lie.
void embed_rows(const nn::Linear& table, std::span<const TokenId> ids, Rows out);

// One layer's attention over a batch of KvSequences.
struct AttentionLayer {
  size_t layer = 0;
  int64_t heads = 0;                  // of queries
  float scale = 1.0F;                 // of q.k
  std::span<const float> sinks = {};  // empty or one a head
};

// Stages k and v [R, kv heads * head size] with the sequences they belong to, then attends:
// out[r] from q[r] [R, heads * head size] over the keys that row r sees, itself included.
void attend(const AttentionLayer& layer, const BatchLayout& batch, ConstRows q, ConstRows k,
            ConstRows v, Rows out, Workspace& ws, const Exec& ex);

}  // namespace spindrift
