#include "engine/acceptance.h"

#include <algorithm>
#include <cstddef>

namespace spindrift {
namespace {

constexpr double kMemory = 0.95;  // what is left of a round's weight after the next
constexpr double kGuessed = 4;    // weight of the guess, in rounds
constexpr double kPooled = 2;     // and of all depths together

}  // namespace

void Acceptance::add(int drafted, int accepted) {
  const int reached = std::min(accepted + 1, drafted);
  if (depths_.size() < static_cast<size_t>(reached)) depths_.resize(static_cast<size_t>(reached));
  for (int d = 0; d < reached; ++d) {
    Depth& depth = depths_[static_cast<size_t>(d)];
    depth.hits = depth.hits * kMemory + (d < accepted ? 1 : 0);
    depth.tries = depth.tries * kMemory + 1;
  }
}

double Acceptance::hit(int depth, double guess) const {
  double hits = guess * kGuessed, tries = kGuessed;
  for (const Depth& d : depths_) hits += d.hits, tries += d.tries;
  const double pooled = hits / tries;
  const auto at = static_cast<size_t>(depth) - 1;
  if (at >= depths_.size()) return pooled;
  return (depths_[at].hits + kPooled * pooled) / (depths_[at].tries + kPooled);
}

void Acceptance::fade(double rounds) {
  for (Depth& depth : depths_) {
    if (depth.tries <= rounds) continue;
    depth.hits *= rounds / depth.tries;
    depth.tries = rounds;
  }
}

}  // namespace spindrift
