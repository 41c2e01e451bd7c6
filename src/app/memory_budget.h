#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/result.h"

namespace spindrift {

// Bytes of memory that this process may use: the machine's, or less where its control groups limit
// it. What files it maps take counts, too.
int64_t memory_budget();

// A warning for weights that do not fit the budget, which says what that will cost; nullopt when
// they fit.
std::optional<std::string> memory_warning(const std::string& model, int64_t weight_bytes,
                                          int64_t budget);

// kLimit when copies of the weights, which no file backs, do not fit the budget.
Status room_for_copies(const std::string& model, int64_t weight_bytes, int64_t budget);

// A warning where the system gives nobody large pages; nullopt where it does, or doesn't say.
std::optional<std::string> large_pages_warning();

}  // namespace spindrift
