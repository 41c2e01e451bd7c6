#include "io/crc32.h"

#include <array>

#include "io/little_endian.h"

namespace spindrift {
namespace {

constexpr size_t kSlices = 8;
using Table = std::array<uint32_t, 256>;

// tables[k][b]: what byte b does to the checksum k bytes later.
constexpr std::array<Table, kSlices> make_tables() {
  std::array<Table, kSlices> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit)
      value = (value & 1U) != 0 ? value >> 1 ^ 0xEDB88320U : value >> 1;
    tables[0][byte] = value;
  }
  for (size_t k = 1; k < kSlices; ++k)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = before >> 8 ^ tables[0][before & 0xFFU];
    }
  return tables;
}

constexpr std::array<Table, kSlices> kTables = make_tables();

}  // namespace

uint32_t crc32(std::span<const std::byte> bytes, uint32_t before) {
  uint32_t crc = ~before;
  size_t at = 0;
  for (; bytes.size() - at >= kSlices; at += kSlices) {
    const uint64_t word = little_endian<uint64_t>(bytes, at) ^ crc;
    crc = 0;
    for (size_t k = 0; k < kSlices; ++k) crc ^= kTables[kSlices - 1 - k][word >> (8 * k) & 0xFFU];
  }
  for (; at < bytes.size(); ++at)
    crc = crc >> 8 ^ kTables[0][(crc ^ std::to_integer<uint32_t>(bytes[at])) & 0xFFU];
  return ~crc;
}

}  // namespace spindrift
