#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/rows.h"
#include "core/types.h"
#include "models/target_model.h"
#include "nn/attention.h"

namespace spindrift {

// The rows of a forward, all sequences one after another: derived once, used by every layer.
class BatchLayout {
 public:
  struct Part {
    Sequence* seq = nullptr;
    nn::RowPaths paths;
    int64_t first = 0;  // its first row in the batch

    int64_t rows() const { return paths.rows(); }
    template <class T>
    RowsView<T> of(RowsView<T> batch) const {
      return batch.slice(first, rows());
    }
  };

  explicit BatchLayout(std::span<const SeqRows> batch);

  int64_t rows() const { return static_cast<int64_t>(positions_.size()); }
  std::span<const Position> positions() const { return positions_; }
  std::span<const TokenId> tokens() const { return tokens_; }
  std::span<const Part> parts() const { return parts_; }
  std::span<const int64_t> logit_rows() const { return logit_rows_; }  // ascending

 private:
  std::vector<Position> positions_;
  std::vector<TokenId> tokens_;
  std::vector<Part> parts_;
  std::vector<int64_t> logit_rows_;
};

}  // namespace spindrift
