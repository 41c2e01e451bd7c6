#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

CodePoint code_point_before(std::string_view text, size_t end) {
  size_t start = end - 1;
  while (start > 0 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
  return code_point_at(text, start);
}

void append_code_point(char32_t value, std::string& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | (value >> 6));
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | (value >> 12));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | (value >> 18));
    put(0x80 | ((value >> 12) & 0x3F));
    put(0x80 | ((value >> 6) & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

size_t append_lossy(std::string_view bytes, bool final, std::string& out) {
  size_t pos = 0;
  size_t copied = 0;
  while (pos < bytes.size()) {
    if (static_cast<unsigned char>(bytes[pos]) < 0x80) {
      ++pos;
      continue;
    }
    const Utf8Unit unit = utf8_unit_at(bytes, pos);
    if (unit.kind == Utf8Unit::Kind::kValid) {
      pos += unit.bytes;
      continue;
    }
    out.append(bytes.substr(copied, pos - copied));
    if (unit.kind == Utf8Unit::Kind::kIncomplete && !final) return pos;
    out.append(kReplacement);
    pos += unit.bytes;
    copied = pos;
  }
  out.append(bytes.substr(copied));
  return bytes.size();
}

std::string printable(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr size_t kMaxBytes = 80;
  std::string clean;
  append_lossy(text.substr(0, kMaxBytes), text.size() <= kMaxBytes, clean);
  std::string out;
  for (const char c : clean) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      out += c;
    } else {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return text.size() > kMaxBytes ? out + "..." : out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  out += printable(text);
  out += '"';
  return out;
}

}  // namespace spindrift
