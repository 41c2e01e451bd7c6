#pragma once

#include <span>

#include "core/types.h"

namespace spindrift {

// Index of the largest value, the lowest of equals; a NaN is never the largest. Row not empty.
TokenId argmax(std::span<const float> row);

}  // namespace spindrift
