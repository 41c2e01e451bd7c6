#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spindrift {

// The ByteLevel alphabet of GPT-2: printable Latin-1 bytes stand for themselves, the 68 others for
// U+0100 .. U+0143 in order, so that any bytes can be spelled in visible characters.
char32_t byte_to_symbol(uint8_t byte);
int symbol_to_byte(char32_t symbol);  // -1: not in the alphabet

std::string bytes_to_symbols(std::string_view bytes);
// The bytes that valid UTF-8 `symbols` spells, appended to out. False (and out unchanged) when a
// character is outside the alphabet.
bool symbols_to_bytes(std::string_view symbols, std::string& out);

}  // namespace spindrift
