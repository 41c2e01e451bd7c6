#pragma once

#include <cstdint>
#include <vector>

namespace spindrift {

// Which of the package's character classes a code point belongs to (see unicode_tables.h).
enum CharClass : uint8_t {
  kLetter = 1,          // \p{L} of the package's Oniguruma
  kNumber = 2,          // \p{N} of the package's Oniguruma
  kSpace = 4,           // \s everywhere
  kNumeric = 8,         // Digits
  kWord = 16,           // single_word
  kCombiningMark = 32,  // StripAccents
};

class CharClasses {
 public:
  // The one immutable table, built on first use.
  static const CharClasses& get();

  uint8_t operator[](char32_t code_point) const { return flags_[code_point]; }
  bool is(char32_t code_point, uint8_t any_of) const { return (flags_[code_point] & any_of) != 0; }

 private:
  CharClasses();
  std::vector<uint8_t> flags_;  // one byte for each of 0x110000 code points
};

}  // namespace spindrift
