#include "bench/spread.h"

#include <algorithm>

#include "core/check.h"

namespace spindrift::bench {

Spread spread(std::vector<double> values) {
  SPINDRIFT_CHECK(!values.empty(), "something was measured");
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {.median = median, .min = values.front(), .max = values.back()};
}

}  // namespace spindrift::bench
