#include "io/quote.h"

#include <cstdio>

#include "core/utf8.h"

namespace spindrift {

std::string quoted_for_message(std::string_view text, size_t max_bytes) {
  std::string out = "`";
  size_t i = 0;
  while (i < text.size() && out.size() <= max_bytes) {
    const Utf8Unit unit = utf8_unit_at(text, i);
    const bool valid = unit.kind == Utf8Unit::Kind::kValid;
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080..U+009F are control characters too, and a terminal may act on them.
    const bool control = byte < 0x20 || byte == 0x7F ||
                         (byte == 0xC2 && valid && static_cast<unsigned char>(text[i + 1]) < 0xA0);
    if (!valid || control) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      out += escape;
      ++i;
    } else {
      out.append(text, i, unit.bytes);
      i += unit.bytes;
    }
  }
  if (i < text.size()) out += "…";
  out += '`';
  return out;
}

}  // namespace spindrift
