#include "tokenizer/char_class.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/utf8.h"

namespace spindrift {

Status DigitsStage::apply(Pieces& pieces) const {
  const CharClasses& classes = CharClasses::get();
  std::vector<Span> out;
  out.reserve(pieces.spans.size());
  for (const Span& piece : pieces.spans) {
    size_t begin = piece.begin;
    bool in_digits = false;
    for (size_t pos = piece.begin; pos < piece.end;) {
      const CodePoint c = code_point_at(pieces.text, pos);
      const bool digit = classes.is(c.value, kNumeric);
      const bool cut = digit ? individual_ || !in_digits : in_digits;
      if (cut && pos > begin) {
        out.push_back({begin, pos});
        begin = pos;
      }
      in_digits = digit;
      pos += c.bytes;
    }
    out.push_back({begin, piece.end});
  }
  pieces.spans = std::move(out);
  return ok_status();
}

}  // namespace spindrift
