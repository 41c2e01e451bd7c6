#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace spindrift {

// Divides `budget` prompt rows of one forward among prompts that still want wanted[i] > 0 rows:
// equal shares, what a short prompt leaves goes to the longer ones, earlier ones first; at least
// one row each. So a short prompt is never stuck behind a long one.
inline std::vector<int64_t> share_prefill(std::span<const int64_t> wanted, int64_t budget) {
  std::vector<int64_t> rows(wanted.size(), 1);
  int64_t left = budget - static_cast<int64_t>(wanted.size());
  for (bool grew = true; left > 0 && grew;) {
    grew = false;
    int64_t hungry = 0;
    for (size_t i = 0; i < rows.size(); ++i) hungry += rows[i] < wanted[i] ? 1 : 0;
    const int64_t each = hungry == 0 ? 0 : (left + hungry - 1) / hungry;
    for (size_t i = 0; i < rows.size() && left > 0; ++i) {
      const int64_t more = std::min({each, wanted[i] - rows[i], left});
      rows[i] += more;
      left -= more;
      grew = grew || more > 0;
    }
  }
  return rows;
}

}  // namespace spindrift
