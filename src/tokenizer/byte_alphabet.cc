#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr bool is_plain(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr std::array<char32_t, 256> kSymbols = [] {
  std::array<char32_t, 256> symbols{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) symbols[byte] = is_plain(byte) ? byte : next++;
  return symbols;
}();

constexpr std::array<int16_t, 0x144> kBytes = [] {
  std::array<int16_t, 0x144> bytes{};
  for (auto& b : bytes) b = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kSymbols[byte]] = static_cast<int16_t>(byte);
  return bytes;
}();

}  // namespace

char32_t byte_to_symbol(uint8_t byte) { return kSymbols[byte]; }

int symbol_to_byte(char32_t symbol) { return symbol < kBytes.size() ? kBytes[symbol] : -1; }

std::string bytes_to_symbols(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) append_code_point(kSymbols[static_cast<unsigned char>(c)], out);
  return out;
}

bool symbols_to_bytes(std::string_view symbols, std::string& out) {
  const size_t before = out.size();
  for (size_t pos = 0; pos < symbols.size();) {
    const CodePoint c = code_point_at(symbols, pos);
    const int byte = symbol_to_byte(c.value);
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(byte));
    pos += c.bytes;
  }
  return true;
}

}  // namespace spindrift
