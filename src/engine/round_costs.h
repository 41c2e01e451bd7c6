#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace spindrift {

// Seconds of work by its size, from measurements at some sizes. Between those it is a line, above
// the largest it goes on as before. A measurement moves its own size most and the others a little,
// so a machine that gets slower for all sizes does not make the newest one look bad; stalls count
// for half as much again as usual at most.
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
  // Of the nearest size that was measured; 0 = there is none.
  int64_t count_near(int size) const;
  void add(int size, double seconds);
  // any() must hold.
  double at(int size) const;

  // Ascending sizes, to be kept for the next process.
  std::span<const Sample> samples() const { return samples_; }
  // Takes samples that were kept; those that make no sense are left out.
  void restore(std::span<const Sample> samples);

 private:
  std::vector<Sample> samples_;
};

// What drafting rounds cost on one machine with one pair of models.
struct RoundCosts {
  CostCurve verify;  // target forwards, by rows
  CostCurve chain;   // drafts that are one path, by tokens
  CostCurve tree;    // other drafts, by tokens
};

}  // namespace spindrift
