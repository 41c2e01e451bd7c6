#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spindrift {

// The checksum of zip files: CRC-32 with the reflected polynomial 0xEDB88320, as in ISO 3309.
// `before` is the checksum of the bytes in front of these, 0 when there are none.
uint32_t crc32(std::span<const std::byte> bytes, uint32_t before = 0);

}  // namespace spindrift
