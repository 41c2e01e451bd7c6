#include "drafters/argmax.h"

#include <algorithm>
#include <array>
#include <limits>

namespace spindrift {

TokenId argmax(std::span<const float> row) {
  // Independent lanes, so that the compiler can take several values at a time.
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  size_t at = 0;
  for (; at + kLanes <= row.size(); at += kLanes) {
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = row[at + i] > lanes[i] ? row[at + i] : lanes[i];
  }
  for (; at < row.size(); ++at) lanes[0] = row[at] > lanes[0] ? row[at] : lanes[0];
  const float best = *std::max_element(lanes.begin(), lanes.end());
  const auto found = std::find(row.begin(), row.end(), best);
  return found == row.end() ? 0 : static_cast<TokenId>(found - row.begin());
}

}  // namespace spindrift
