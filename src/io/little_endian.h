#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace spindrift {

// The little-endian unsigned integer at bytes[at], whatever its alignment; it must lie inside
// `bytes`.
template <class T>
T little_endian(std::span<const std::byte> bytes, size_t at) {
  static_assert(std::is_unsigned_v<T>);
  uint64_t value = 0;
  for (size_t i = sizeof(T); i-- > 0;)
    value = value << 8 | std::to_integer<uint64_t>(bytes[at + i]);
  return static_cast<T>(value);
}

}  // namespace spindrift
