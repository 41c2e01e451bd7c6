#include "drafters/mlp_speculator/best_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.h"
#include "core/math.h"
#include "core/thread_pool.h"
#include "drafters/argmax.h"
#include "nn/row_pointers.h"

namespace spindrift::mlp_speculator {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
// Rows of one product: bounds the scratch of a thread.
constexpr int64_t kRowsAtOnce = 64;

// Sum of e^(logit - top) over some tokens.
struct Mass {
  float top = kLowest;
  float sum = 0.0F;
};

// Puts a pick at its place among the `best`, which are descending.
void insert(std::span<Pick> best, Pick pick) {
  size_t at = best.size() - 1;
  for (; at > 0 && best[at - 1].value < pick.value; --at) best[at] = best[at - 1];
  best[at] = pick;
}

void clear(std::span<Pick> best) {
  std::fill(best.begin(), best.end(), Pick{.token = kNoToken, .value = kLowest});
}

void search(std::span<const float> logits, TokenId first, std::span<Pick> best) {
  if (best.size() == 1) {
    const TokenId top = argmax(logits);
    const float value = logits[static_cast<size_t>(top)];
    if (value > best[0].value) best[0] = {first + top, value};
    return;
  }
  float least = best.back().value;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] > least)) continue;
    insert(best, {first + static_cast<TokenId>(i), logits[i]});
    least = best.back().value;
  }
}

// The softmax kernel tells a block's mass: the share of its best token, which is `top`, is 1 over
// the sum. Overwrites the logits.
Mass mass_of(std::span<float> logits, size_t top, const kernels::Table& kernels) {
  const float value = logits[top];
  kernels.router_scores(kernels::ScoreFunc::kSoftmax, 0.0F, logits, logits);
  return {value, 1.0F / logits[top]};
}

// What is known of every row after one block, or after all.
struct Found {
  std::vector<Pick> picks;   // [rows * k]
  std::vector<Mass> masses;  // [rows], where wanted
};

class HeadSearch {
 public:
  HeadSearch(const Head& head, ConstRows states, int64_t k, PickValue value, const Exec& ex)
      : head_(head), states_(states), k_(k), value_(value), ex_(ex), found_(head.blocks.size()) {}

  std::vector<Pick> run() {
    const auto blocks = static_cast<int64_t>(found_.size());
    if (ex_.meter != nullptr)
      for (const auto& block : head_.blocks) nn::count(*block, states_.rows(), *ex_.meter);
    for_cells(ex_, blocks, [&](int64_t first, int64_t last) {
      std::vector<float> scratch(
          static_cast<size_t>(std::min(states_.rows(), kRowsAtOnce) * kHeadBlock));
      for (int64_t b = first; b < last; ++b) search_block(b, scratch);
    });
    std::vector<Pick> best(static_cast<size_t>(states_.rows() * k_));
    for (int64_t r = 0; r < states_.rows(); ++r) join(r, picks_of(best, r));
    return best;
  }

 private:
  std::span<Pick> picks_of(std::vector<Pick>& all, int64_t row) const {
    return std::span(all).subspan(static_cast<size_t>(row * k_), static_cast<size_t>(k_));
  }

  void search_block(int64_t b, std::vector<float>& scratch) {
    const nn::Linear& linear = *head_.blocks[static_cast<size_t>(b)];
    const auto first = static_cast<TokenId>(b * kHeadBlock);
    Found& found = found_[static_cast<size_t>(b)];
    found.picks.resize(static_cast<size_t>(states_.rows() * k_));
    for (int64_t from = 0; from < states_.rows(); from += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, states_.rows() - from);
      const Rows logits(scratch.data(), count, linear.out());
      linear.columns(nn::InPointers(states_.slice(from, count)), nn::OutPointers(logits),
                     {0, linear.out()}, *ex_.kernels);
      for (int64_t r = 0; r < count; ++r) {
        const std::span<Pick> best = picks_of(found.picks, from + r);
        clear(best);
        search(logits.row(r), first, best);
        if (value_ == PickValue::kLogit) continue;
        const bool any = best.front().token != kNoToken;
        const auto top = static_cast<size_t>(any ? best.front().token - first : 0);
        found.masses.push_back(mass_of(logits.row(r), top, *ex_.kernels));
      }
    }
  }

  // The best of all blocks, which are taken in order.
  void join(int64_t row, std::span<Pick> best) {
    clear(best);
    for (Found& found : found_) {
      for (const Pick& pick : picks_of(found.picks, row)) {
        if (pick.token != kNoToken && pick.value > best.back().value) insert(best, pick);
      }
    }
    if (value_ == PickValue::kLogit) return;
    const float top = best.front().value;
    float sum = 0.0F;
    for (const Found& found : found_) {
      const Mass& mass = found.masses[static_cast<size_t>(row)];
      sum += mass.sum * math::exp(mass.top - top);
    }
    const float log_sum = static_cast<float>(std::log(static_cast<double>(sum)));
    for (Pick& pick : best) pick.value = (pick.value - top) - log_sum;
  }

  const Head& head_;
  ConstRows states_;
  int64_t k_;
  PickValue value_;
  const Exec& ex_;
  std::vector<Found> found_;  // one a block
};

}  // namespace

std::vector<Pick> best_tokens(const Head& head, ConstRows states, int64_t k, PickValue value,
                              const Exec& ex) {
  SPINDRIFT_CHECK(k >= 1, "at least one token is wanted");
  return HeadSearch(head, states, k, value, ex).run();
}

}  // namespace spindrift::mlp_speculator
