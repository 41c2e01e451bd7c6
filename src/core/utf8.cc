#include "core/utf8.h"

namespace spindrift {

Utf8Unit utf8_unit_at(std::string_view bytes, size_t pos) {
  using Kind = Utf8Unit::Kind;
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i]));
  };
  const uint32_t lead = byte(pos);
  if (lead < 0x80) return {Kind::kValid, 1};
  size_t length = 0;
  uint32_t low = 0x80, high = 0xBF;  // what the second byte may be
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {Kind::kInvalid, 1};
  }
  for (size_t i = 1; i < length; ++i) {
    if (pos + i == bytes.size()) return {Kind::kIncomplete, i};
    if (byte(pos + i) < low || byte(pos + i) > high) return {Kind::kInvalid, i};
    low = 0x80;
    high = 0xBF;
  }
  return {Kind::kValid, length};
}

bool valid_utf8(std::string_view bytes) {
  for (size_t pos = 0; pos < bytes.size();) {
    if (static_cast<unsigned char>(bytes[pos]) < 0x80) {
      ++pos;
      continue;
    }
    const Utf8Unit unit = utf8_unit_at(bytes, pos);
    if (unit.kind != Utf8Unit::Kind::kValid) return false;
    pos += unit.bytes;
  }
  return true;
}

}  // namespace spindrift
