#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace spindrift {

// Bytes of memory that this process may use: the machine's, or less where its control groups limit
// it. What files it maps take counts, too.
int64_t memory_budget();

// A warning for weights that do not fit the budget, which says what that will cost; nullopt when
// they fit.
std::optional<std::string> memory_warning(const std::string& model, int64_t weight_bytes,
                                          int64_t budget);

}  // namespace spindrift
