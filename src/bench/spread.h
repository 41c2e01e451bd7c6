#pragma once

#include <vector>

namespace spindrift::bench {

// Repeated measurements of one thing.
struct Spread {
  double median = 0, min = 0, max = 0;
};

// The median of an even number is the mean of the middle two. values: at least one.
Spread spread(std::vector<double> values);

}  // namespace spindrift::bench
