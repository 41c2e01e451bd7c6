#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "drafters/drafter.h"

namespace spindrift::mlp_speculator {

// A head looks at one row: the target's newest, after its final norm.
class State final : public DraftState {
 public:
  Position observed() const override { return observed_; }
  void reset() override {
    observed_ = 0;
    row_.clear();
  }
  void start_at(Position first) override { observed_ = first; }
  // Always succeeds. The row before n is gone, so nothing is proposed until the next one is seen,
  // which comes with the next token.
  Status truncate(Position n) override {
    if (n != observed_) row_.clear();
    observed_ = n;
    return ok_status();
  }
  int64_t bytes() const override { return static_cast<int64_t>(row_.capacity() * sizeof(float)); }

  // Rows [observed(), end) were committed; `newest` is the last of them.
  void advance(Position end, std::span<const float> newest) {
    observed_ = end;
    row_.assign(newest.begin(), newest.end());
  }
  // Row observed() - 1; empty when it is not known.
  std::span<const float> row() const { return row_; }

 private:
  Position observed_ = 0;
  std::vector<float> row_;
};

}  // namespace spindrift::mlp_speculator
