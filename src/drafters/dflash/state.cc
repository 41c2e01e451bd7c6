#include "drafters/dflash/state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"

namespace spindrift::dflash {
namespace {

// Attention sums over positions in lanes of 16: caches that start at a multiple of it compute the
// same bits wherever they start.
constexpr Position kLanes = 16;

}  // namespace

State::State(const Config& config) : config_(config) { reset(); }

void State::reset() {
  observed_ = 0;
  origin_ = 0;
  pending_.clear();
  caches_.clear();
  for (int i = 0; i < config_.layers; ++i) {
    caches_.emplace_back(nn::KvShape{
        .kv_heads = config_.kv_heads, .head_dim = config_.head_dim, .window = config_.window});
  }
}

void State::start_at(Position first) {
  SPINDRIFT_CHECK(observed_ == 0 && first % kLanes == 0, "a fresh state starts where a cache can");
  observed_ = origin_ = first;
}

Status State::truncate(Position n) {
  SPINDRIFT_CHECK(n >= 0 && n <= observed_, "truncate keeps a prefix");
  const Error gone{ErrorCode::kUnsupported, "the drafter's context has let go of rows before " +
                                                std::to_string(n) + " that a draft there sees"};
  if (n == 0) {
    reset();
    return ok_status();
  }
  const Position needed = first_needed(n);
  if (n <= projected()) {
    if (n <= origin_ || needed < origin_) return gone;
    for (nn::KvCache& cache : caches_) SPINDRIFT_TRY_STATUS(cache.truncate(n - origin_));
    pending_.clear();
  } else {
    const Position waiting = pending_.empty() ? observed_ : pending_.front().first;
    const bool whole = waiting <= projected() ? needed >= origin_ : needed >= waiting;
    if (!whole) return gone;
    while (!pending_.empty() && pending_.back().first >= n) pending_.pop_back();
    if (!pending_.empty() && pending_.back().end() > n) {
      Pending& last = pending_.back();
      last.rows = n - last.first;
      last.taps.resize(static_cast<size_t>(last.rows * config_.taps() * config_.hidden));
    }
  }
  observed_ = n;
  return ok_status();
}

int64_t State::bytes() const {
  int64_t total = 0;
  for (const nn::KvCache& cache : caches_) total += cache.bytes();
  for (const Pending& chunk : pending_) {
    total += static_cast<int64_t>(chunk.taps.capacity() * sizeof(float));
  }
  return total;
}

Position State::first_needed(const Config& config, Position next) {
  const Position oldest = std::max<Position>(0, next - config.window + 1);
  return oldest - oldest % kLanes;
}

Rows State::add_pending(Position end) {
  const Position needed = first_needed(end);
  const Position first = std::max(observed_, std::min(needed, end));
  observed_ = end;
  while (!pending_.empty() && pending_.front().end() <= needed) pending_.pop_front();
  Pending chunk{.first = first, .rows = end - first, .taps = {}};
  const int64_t cols = config_.taps() * config_.hidden;
  chunk.taps.resize(static_cast<size_t>(chunk.rows * cols));
  pending_.push_back(std::move(chunk));
  return {pending_.back().taps.data(), end - first, cols};
}

void State::drop_unseen() {
  const Position needed = first_needed(observed_);
  if (needed <= projected()) return;
  const Position observed = observed_;
  std::deque<Pending> pending = std::move(pending_);
  reset();
  observed_ = observed;
  origin_ = needed;
  pending_ = std::move(pending);
}

void State::append_pending(int64_t count, std::vector<const float*>& rows) const {
  const int64_t cols = config_.taps() * config_.hidden;
  Position next = projected();
  const Position end = next + count;
  for (const Pending& chunk : pending_) {
    for (; next < std::min(end, chunk.end()); ++next) {
      SPINDRIFT_CHECK(next >= chunk.first, "waiting rows have no gaps");
      rows.push_back(chunk.taps.data() + (next - chunk.first) * cols);
    }
  }
  SPINDRIFT_CHECK(next == end, "every row that is needed waits");
}

void State::drop_projected() {
  while (!pending_.empty() && pending_.front().end() <= projected()) pending_.pop_front();
}

}  // namespace spindrift::dflash
