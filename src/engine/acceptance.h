#pragma once

#include <vector>

namespace spindrift {

// How often drafts have hit lately, by depth: of the rounds whose draft was right up to a depth,
// the share that was right there, too. What a depth lacks in evidence comes from all depths
// together, and what those lack from a guess.
class Acceptance {
 public:
  // A round that drafted `drafted` tokens deep and kept `accepted` of them.
  void add(int drafted, int accepted);
  // Depths count from 1. `guess`: of a drafter nothing is known of.
  double hit(int depth, double guess) const;
  // Keeps what is known as a hint of at most so many rounds: new evidence outweighs it then.
  void fade(double rounds);
  bool any() const { return !depths_.empty(); }

 private:
  struct Depth {
    double hits = 0, tries = 0;
  };
  std::vector<Depth> depths_;
};

}  // namespace spindrift
