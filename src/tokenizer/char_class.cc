#include "tokenizer/char_class.h"

#include <span>

#include "tokenizer/unicode_tables.h"

namespace spindrift {

CharClasses::CharClasses() : flags_(0x110000, 0) {
  const auto mark = [&](std::span<const unicode_tables::CodePointRange> ranges, uint8_t flag) {
    for (const auto& range : ranges) {
      for (char32_t c = range.first; c <= range.last; ++c) flags_[c] |= flag;
    }
  };
  mark(unicode_tables::letters(), kLetter);
  mark(unicode_tables::numbers(), kNumber);
  mark(unicode_tables::spaces(), kSpace);
  mark(unicode_tables::numeric(), kNumeric);
  mark(unicode_tables::word(), kWord);
  mark(unicode_tables::combining_marks(), kCombiningMark);
}

const CharClasses& CharClasses::get() {
  static const CharClasses classes;
  return classes;
}

}  // namespace spindrift
