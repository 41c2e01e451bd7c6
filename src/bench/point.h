#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/spread.h"

namespace spindrift::bench {

using Value = std::variant<int64_t, double, std::string>;

struct Field {
  std::string_view name;  // a literal
  Value value;
};

// One measurement: what was measured and its figures, in the order they are shown in.
using Point = std::vector<Field>;

// Appends `name`, its median, and "min" and "max" beside it.
void add_spread(Point& point, std::string_view name, const Spread& values);

// What the figures were made with.
struct MachineFacts {
  std::string cpu, isa;
  int threads = 1;
  double read_gb_s = 0, fma_gflop_s = 0;
};

// {"mode", "machine", "model", "points"}, one line. An empty model is null.
std::string to_json(std::string_view mode, const MachineFacts& machine, std::string_view model,
                    std::span<const Point> points);
// A header of the names and a line a point; all points have the same names.
std::string to_csv(std::span<const Point> points);
// The same as columns for reading: four significant digits, bytes and operations with a prefix.
std::string to_table(std::span<const Point> points);

}  // namespace spindrift::bench
