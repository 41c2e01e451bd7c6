#pragma once

#include <cstdint>

namespace spindrift {

using TokenId = int32_t;
using Position = int64_t;  // index of a token in its sequence, from 0
using RowIndex = int32_t;  // index of a row inside one sequence's part of a forward

inline constexpr RowIndex kRoot =
    -1;  // parent of a row whose predecessor is the last committed token

}  // namespace spindrift
