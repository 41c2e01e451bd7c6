#include "models/batch.h"

#include "core/check.h"

namespace spindrift {

BatchLayout::BatchLayout(std::span<const SeqRows> batch) {
  parts_.reserve(batch.size());
  for (const SeqRows& rows : batch) {
    SPINDRIFT_CHECK(rows.seq != nullptr, "rows belong to a sequence");
    const auto count = static_cast<int64_t>(rows.tokens.size());
    const auto first = static_cast<int64_t>(tokens_.size());
    parts_.push_back({rows.seq, nn::RowPaths(rows.seq->committed(), count, rows.parents), first});
    const std::span<const Position> positions = parts_.back().paths.positions();
    positions_.insert(positions_.end(), positions.begin(), positions.end());
    tokens_.insert(tokens_.end(), rows.tokens.begin(), rows.tokens.end());
    if (count == 0 || rows.logits == LogitRows::kNone) continue;
    for (int64_t r = rows.logits == LogitRows::kLast ? count - 1 : 0; r < count; ++r)
      logit_rows_.push_back(first + r);
  }
}

}  // namespace spindrift
