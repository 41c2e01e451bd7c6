#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/utf8.h"

namespace spindrift {

struct CodePoint {
  char32_t value = 0;
  size_t bytes = 0;
};

// The code point that starts at text[pos]. text must be well-formed UTF-8 and pos a boundary before
// its end.
inline CodePoint code_point_at(std::string_view text, size_t pos) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[pos + i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {((lead & 0x1F) << 6) | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) {
    return {((lead & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F), 3};
  }
  return {
      ((lead & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F),
      4};
}

// The code point that ends just before text[end]. text as above, end > 0 a boundary.
CodePoint code_point_before(std::string_view text, size_t end);

void append_code_point(char32_t value, std::string& out);

// Appends bytes to out with U+FFFD for each maximal invalid subpart, as Python's errors='replace'
// and Rust's from_utf8_lossy do. Returns how many bytes were taken: with `final` all of them, else
// all but an incomplete tail.
size_t append_lossy(std::string_view bytes, bool final, std::string& out);

// For error messages, one line: at most 80 bytes of text, control characters as \xHH; in_quotes
// adds quotation marks.
std::string printable(std::string_view text);
std::string in_quotes(std::string_view text);

}  // namespace spindrift
