#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace spindrift {

// A prompt that is being read.
struct PromptRows {
  int64_t wanted = 0;  // rows still to read; 0 = none in this forward
  int64_t rows = 0;    // its part of the forward
};

// Divides `budget` prompt rows of one forward among prompts in order of arrival. A quarter is for
// the first one that wants rows, so that it never stands still; the rest goes to those that want
// the fewest, equals by arrival, so that a short prompt is not stuck behind long ones.
inline void share_prefill(std::span<PromptRows> prompts, int64_t budget) {
  for (PromptRows& prompt : prompts) prompt.rows = 0;
  const auto first = std::find_if(prompts.begin(), prompts.end(),
                                  [](const PromptRows& prompt) { return prompt.wanted > 0; });
  if (first == prompts.end()) return;
  first->rows = std::min(first->wanted, std::max<int64_t>(1, budget / 4));
  for (int64_t left = budget - first->rows; left > 0;) {
    PromptRows* next = nullptr;
    for (PromptRows& prompt : prompts)
      if (prompt.rows < prompt.wanted && (next == nullptr || prompt.wanted < next->wanted))
        next = &prompt;
    if (next == nullptr) return;
    const int64_t more = std::min(next->wanted - next->rows, left);
    next->rows += more;
    left -= more;
  }
}

// The largest share with which min(n, share) over `wanted` sums to at most `budget`.
inline int64_t largest_share(std::span<const int64_t> wanted, int64_t budget) {
  int64_t share = 0;
  for (const int64_t n : wanted) share = std::max(share, n);
  const auto sum = [&] {
    int64_t total = 0;
    for (const int64_t n : wanted) total += std::min(n, share);
    return total;
  };
  while (share > 0 && sum() > budget) --share;
  return share;
}

}  // namespace spindrift
