#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spindrift {

// Seconds of work by its size, from measurements at some sizes. Between those it is a line, above
// the largest it goes on as before; but no size costs more than a larger one, nor more for its size
// than a smaller one, as far as those are known: a first measurement that fell into a stall would
// keep its size from ever being measured again. A measurement moves its own size most and the
// others a little, so a machine that gets slower for all sizes does not make the newest one look
// bad; stalls count for half as much again as usual at most.
class CostCurve {
 public:
  struct Sample {
    int size = 0;
    double seconds = 0;
    int64_t count = 0;  // measurements behind it
  };

  bool any() const { return !samples_.empty(); }
  // Measurements of this very size.
  int64_t count(int size) const;
  // Measurements that at(size) rests on: those of other sizes count for less, those half as far off
  // as the size itself for nothing.
  double evidence(int size) const;
  void add(int size, double seconds);
  // any() must hold.
  double at(int size) const;

  // Ascending sizes, to be kept for the next process.
  std::span<const Sample> samples() const { return samples_; }
  // Takes samples that were kept; those that make no sense are left out.
  void restore(std::span<const Sample> samples);

 private:
  double line(int size) const;

  std::vector<Sample> samples_;
};

// Drafting passes, by the draft tokens of all requests in them; apart for 1, 2, up to 4, up to 8
// requests and so on, because many short drafts cost another time than one long draft.
class PassCosts {
 public:
  static constexpr size_t kGroups = 8;

  CostCurve& of(int calls) { return groups_[group(calls)]; }
  // Of that number of requests, or of the nearest one that was measured; null = none was.
  const CostCurve* nearest(int calls) const;
  bool any() const { return nearest(1) != nullptr; }
  // All measurements.
  int64_t measured() const;
  std::array<CostCurve, kGroups>& groups() { return groups_; }
  const std::array<CostCurve, kGroups>& groups() const { return groups_; }

 private:
  static size_t group(int calls);

  std::array<CostCurve, kGroups> groups_;
};

// What drafting rounds cost on one machine with one pair of models.
struct RoundCosts {
  CostCurve verify;  // target forwards, by rows
  PassCosts chain;   // drafts that are one path
  PassCosts tree;    // other drafts
  CostCurve intake;  // what rows that waited for a pass add to it, by rows
  // What drafting has won over plain rounds and may lose again where it does not seem to pay, in
  // plain rounds.
  static constexpr double kFirstCredit = 2, kMostCredit = 8;
  double credit = kFirstCredit;
};

}  // namespace spindrift
