#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/rows.h"
#include "core/types.h"
#include "drafters/dflash/config.h"
#include "drafters/drafter.h"
#include "nn/kv_cache.h"

namespace spindrift::dflash {

// What one conversation's drafting needs of the rows the target has committed: keys and values of
// every layer for the rows that were already projected, and the normed taps of later ones, which
// wait for the next proposal and share its passes over the weights. Rows that no block row can see
// any more are dropped unprojected.
class State final : public DraftState {
 public:
  explicit State(const Config& config);  // config must outlive the state

  Position observed() const override { return observed_; }
  void reset() override;
  void start_at(Position first) override;
  // Succeeds while every row that a block at n sees is still held.
  Status truncate(Position n) override;
  int64_t bytes() const override;

  // Accounts for the rows [observed(), end) and returns room for the taps of the last of them, [1
  // .. end - observed(), taps * hidden], to be filled by the caller: those a block at `end` or
  // later can see.
  Rows add_pending(Position end);

  // Forgets what no block at observed() or later can see. To be called before the next two.
  void drop_unseen();
  Position projected() const { return origin_ + caches_.front().committed(); }
  // Appends pointers to the first `count` waiting rows, those from position projected() on.
  void append_pending(int64_t count, std::vector<const float*>& rows) const;
  // To be called when all layers have committed those rows: frees what waited.
  void drop_projected();

  nn::KvCache& cache(int layer) { return caches_[static_cast<size_t>(layer)]; }
  // Position of row 0 of every cache.
  Position origin() const { return origin_; }

  // The oldest position that a block whose bonus token stands at `next` can see, rounded down to
  // where a cache can start.
  static Position first_needed(const Config& config, Position next);

 private:
  struct Pending {
    Position first = 0;
    int64_t rows = 0;
    std::vector<float> taps;
    Position end() const { return first + rows; }
  };
  Position first_needed(Position next) const { return first_needed(config_, next); }

  const Config& config_;
  Position observed_ = 0;
  Position origin_ = 0;
  std::vector<nn::KvCache> caches_;  // one a layer
  std::deque<Pending> pending_;      // ascending, without gaps, up to observed()
};

}  // namespace spindrift::dflash
