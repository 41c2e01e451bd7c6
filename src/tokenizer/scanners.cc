#include <array>

#include "tokenizer/char_class.h"
#include "tokenizer/pattern.h"
#include "tokenizer/utf8.h"

namespace spindrift {

const std::string_view kGpt2Expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

constexpr std::string_view kNewlineRuns = R"((?:\r?\n)+(?!\r?\n))";
constexpr std::string_view kOneDigit =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kThreeDigits =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// A cursor over valid UTF-8 with the class of the code point under it. Past the end the class is 0
// and `bytes` 0.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text), classes_(CharClasses::get()) {}

  bool at_end(size_t pos) const { return pos >= text_.size(); }
  char byte(size_t pos) const { return pos < text_.size() ? text_[pos] : '\0'; }
  struct Unit {
    uint8_t flags;
    size_t bytes;
  };
  Unit unit(size_t pos) const {
    if (pos >= text_.size()) return {0, 0};
    const CodePoint c = code_point_at(text_, pos);
    return {classes_[c.value], c.bytes};
  }
  // End of the run of code points with a flag among `flags` that starts at pos.
  size_t run(size_t pos, uint8_t flags) const {
    while (true) {
      const Unit u = unit(pos);
      if ((u.flags & flags) == 0) return pos;
      pos += u.bytes;
    }
  }
  // End of the run of code points without any of `flags`.
  size_t run_without(size_t pos, uint8_t flags) const {
    while (true) {
      const Unit u = unit(pos);
      if (u.bytes == 0 || (u.flags & flags) != 0) return pos;
      pos += u.bytes;
    }
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
  const CharClasses& classes_;
};

constexpr uint8_t kNotOther = kSpace | kLetter | kNumber;

bool is_newline(char c) { return c == '\r' || c == '\n'; }

// Length of a contraction ('s 't 're 've 'm 'll 'd) at pos, or 0. `fold`: in any case, and U+017F
// for s.
size_t contraction(const Cursor& cursor, size_t pos, bool fold) {
  if (cursor.byte(pos) != '\'') return 0;
  const auto lower = [&](size_t at) {
    const char c = cursor.byte(at);
    return fold && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = lower(pos + 1);
  const char second = lower(pos + 2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if ((first == 'r' || first == 'v') && second == 'e') return 3;
  if (first == 'l' && second == 'l') return 3;
  if (fold && first == '\xC5' && cursor.byte(pos + 2) == '\xBF') return 3;
  return 0;
}

// \s+(?!\S)|\s+ at pos, where a run of spaces ends at `end`: all of it at the end of the text, else
// all but its last code point, else (when that leaves nothing) all of it.
size_t trailing_spaces(const Cursor& cursor, size_t pos, size_t end) {
  if (cursor.at_end(end)) return end;
  const size_t shorter = end - code_point_before(cursor.text(), end).bytes;
  return shorter > pos ? shorter : end;
}

size_t next_gpt2(const Cursor& cursor, size_t pos) {
  if (const size_t length = contraction(cursor, pos, false)) return pos + length;
  const size_t after_space = cursor.byte(pos) == ' ' ? pos + 1 : pos;
  const Cursor::Unit u = cursor.unit(after_space);
  if (u.flags & kLetter) return cursor.run(after_space, kLetter);
  if (u.flags & kNumber) return cursor.run(after_space, kNumber);
  if (u.bytes > 0 && !(u.flags & kSpace)) return cursor.run_without(after_space, kNotOther);
  return trailing_spaces(cursor, pos, cursor.run(pos, kSpace));
}

template <int kMaxDigits>
size_t next_split(const Cursor& cursor, size_t pos) {
  if (const size_t length = contraction(cursor, pos, true)) return pos + length;
  const Cursor::Unit u = cursor.unit(pos);
  if (u.flags & kLetter) return cursor.run(pos, kLetter);
  if (u.flags & kNumber) {
    size_t end = pos;
    for (int i = 0; i < kMaxDigits; ++i) {
      const Cursor::Unit digit = cursor.unit(end);
      if (!(digit.flags & kNumber)) break;
      end += digit.bytes;
    }
    return end;
  }
  const bool newline = is_newline(cursor.byte(pos));
  if (!newline && (cursor.unit(pos + u.bytes).flags & kLetter))
    return cursor.run(pos + u.bytes, kLetter);
  const size_t after_space = cursor.byte(pos) == ' ' ? pos + 1 : pos;
  const Cursor::Unit other = cursor.unit(after_space);
  if (other.bytes > 0 && !(other.flags & kNotOther)) {
    size_t end = cursor.run_without(after_space, kNotOther);
    while (is_newline(cursor.byte(end))) ++end;
    return end;
  }
  const size_t end = cursor.run(pos, kSpace);
  for (size_t last = end; last > pos; --last) {
    if (is_newline(cursor.byte(last - 1))) return last;
  }
  return trailing_spaces(cursor, pos, end);
}

// An expression that matches somewhere at every position: its matches cover the text.
class CoveringScanner : public Pattern {
 public:
  using Next = size_t (*)(const Cursor&, size_t);
  explicit CoveringScanner(Next next) : next_(next) {}

  Status search(std::string_view text, SearchBudget&, std::vector<Span>& matches) const override {
    const Cursor cursor(text);
    for (size_t pos = 0; pos < text.size();) {
      const size_t end = next_(cursor, pos);
      matches.push_back({pos, end});
      pos = end;
    }
    return ok_status();
  }

 private:
  Next next_;
};

class NewlineRunScanner : public Pattern {
 public:
  Status search(std::string_view text, SearchBudget&, std::vector<Span>& matches) const override {
    size_t previous_end = 0;
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at)) {
      const size_t begin = at > previous_end && text[at - 1] == '\r' ? at - 1 : at;
      size_t end = at + 1;
      while (end < text.size()) {
        if (text[end] == '\n') {
          end += 1;
        } else if (text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n') {
          end += 2;
        } else {
          break;
        }
      }
      matches.push_back({begin, end});
      at = previous_end = end;
    }
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<Pattern> make_scanner(std::string_view expression) {
  if (expression == kNewlineRuns) return std::make_unique<NewlineRunScanner>();
  if (expression == kOneDigit) return std::make_unique<CoveringScanner>(next_split<1>);
  if (expression == kThreeDigits) return std::make_unique<CoveringScanner>(next_split<3>);
  if (expression == kGpt2Expression) return std::make_unique<CoveringScanner>(next_gpt2);
  return nullptr;
}

}  // namespace spindrift
