#include "engine/round_costs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace spindrift {
namespace {

constexpr int64_t kFirst = 3;        // measurements of a size of which the least counts: the
                                     // first one touches memory for the first time
constexpr double kOwn = 0.15;        // how much of a later one is believed, at least
constexpr double kOthers = 0.1;      // and of other sizes' at this one, ...
constexpr int64_t kSettled = 8;      // ... once the other size is known that well
constexpr double kMostChange = 1.5;  // a single measurement's factor
constexpr double kGrowth = 0.1;      // of the cost by one more, where nothing tells
constexpr int kLargest = 4096;
constexpr double kLongest = 3600;

double guess(int size) { return 1 + kGrowth * size; }

}  // namespace

int64_t CostCurve::count(int size) const {
  for (const Sample& sample : samples_)
    if (sample.size == size) return sample.count;
  return 0;
}

double CostCurve::evidence(int size) const {
  double sum = 0;
  for (const Sample& sample : samples_) {
    const double off = 2.0 * std::abs(sample.size - size) / size;
    sum += static_cast<double>(sample.count) * std::max(0.0, 1 - off);
  }
  return sum;
}

void CostCurve::add(int size, double seconds) {
  if (size <= 0 || size > kLargest || !(seconds > 0) || !(seconds < kLongest)) return;
  const auto at = std::lower_bound(samples_.begin(), samples_.end(), size,
                                   [](const Sample& s, int n) { return s.size < n; });
  if (at == samples_.end() || at->size != size) {
    samples_.insert(at, {.size = size, .seconds = seconds, .count = 1});
    return;
  }
  Sample& own = *at;
  if (++own.count <= kFirst) {
    own.seconds = std::min(own.seconds, seconds);
    return;
  }
  const double change = std::clamp(seconds / own.seconds, 1 / kMostChange, kMostChange);
  const double mine = std::pow(change, std::max(kOwn, 1.0 / static_cast<double>(own.count)));
  const double others = own.count > kSettled ? std::pow(change, kOthers) : 1;
  for (Sample& sample : samples_) sample.seconds *= &sample == &own ? mine : others;
}

double CostCurve::at(int size) const {
  double seconds = line(size);
  for (const Sample& sample : samples_) {
    if (sample.count < kFirst || sample.size == size) continue;
    const double share = std::max(1.0, static_cast<double>(size) / sample.size);
    seconds = std::min(seconds, sample.seconds * share);
  }
  return seconds;
}

double CostCurve::line(int size) const {
  const auto above = std::lower_bound(samples_.begin(), samples_.end(), size,
                                      [](const Sample& s, int n) { return s.size < n; });
  if (above != samples_.end() && above->size == size) return above->seconds;
  if (samples_.size() == 1 || above == samples_.begin()) {
    const Sample& only = samples_.front();
    return only.seconds * guess(size) / guess(only.size);
  }
  const bool beyond = above == samples_.end();
  const Sample& left = beyond ? *(above - 2) : *(above - 1);
  const Sample& right = beyond ? *(above - 1) : *above;
  const double slope = (right.seconds - left.seconds) / (right.size - left.size);
  if (beyond) return right.seconds + std::max(slope, 0.0) * (size - right.size);
  return left.seconds + slope * (size - left.size);
}

void CostCurve::restore(std::span<const Sample> samples) {
  samples_.clear();
  for (const Sample& sample : samples) {
    const bool sound = sample.size > (samples_.empty() ? 0 : samples_.back().size) &&
                       sample.size <= kLargest && sample.seconds > 0 && sample.seconds < kLongest &&
                       sample.count > 0;
    if (sound) samples_.push_back(sample);
  }
}

size_t PassCosts::group(int calls) {
  const auto others = static_cast<unsigned>(std::max(calls, 1) - 1);
  return std::min<size_t>(static_cast<size_t>(std::bit_width(others)), kGroups - 1);
}

const CostCurve* PassCosts::nearest(int calls) const {
  const size_t own = group(calls);
  for (size_t g = own + 1; g-- > 0;)
    if (groups_[g].any()) return &groups_[g];
  for (size_t g = own + 1; g < kGroups; ++g)
    if (groups_[g].any()) return &groups_[g];
  return nullptr;
}

int64_t PassCosts::measured() const {
  int64_t count = 0;
  for (const CostCurve& curve : groups_)
    for (const CostCurve::Sample& sample : curve.samples()) count += sample.count;
  return count;
}

}  // namespace spindrift
