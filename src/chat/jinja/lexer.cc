#include "chat/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "chat/jinja/error.h"
#include "chat/jinja/text.h"
#include "core/utf8.h"

namespace spindrift::jinja {
namespace {

std::string with_plain_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
      continue;
    }
    out.push_back('\n');
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  return out;
}

bool ascii_alpha(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
bool ascii_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {
    if (!source_.empty() && source_.back() == '\n') source_.pop_back();
  }

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    push(Tok::kEnd, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  std::string_view rest(size_t from) const {
    return std::string_view(source_).substr(std::min(from, source_.size()));
  }

  // Moves on, counting lines.
  void advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }
  void push(Tok type, std::string text) { tokens_.push_back({type, line_, std::move(text)}); }

  size_t skip_space(size_t from) const {
    while (from < source_.size()) {
      size_t read = from;
      if (!is_space(next_code_point(source_, &read))) break;
      from = read;
    }
    return from;
  }

  // Matches `\s*word\s*` at `from` and returns the offset behind it, or npos.
  size_t match_word(size_t from, std::string_view word) const {
    from = skip_space(from);
    if (rest(from).substr(0, word.size()) != word) return std::string_view::npos;
    return skip_space(from + word.size());
  }

  // The end of a tag that may be `%}`, `-%}` or `+%}` (the same for comments): offset behind it or
  // npos.
  size_t match_close(size_t from, std::string_view close) const {
    const std::string_view here = rest(from);
    if (here.substr(0, 2) == close) {
      from += 2;
      return from < source_.size() && source_[from] == '\n' ? from + 1 : from;
    }
    if (here.size() >= 3 && here.substr(1, 2) == close) {
      if (here[0] == '-') return skip_space(from + 3);
      if (here[0] == '+') return from + 3;
    }
    return std::string_view::npos;
  }

  // `text` before a tag, cut as the tag's sign asks.
  std::string_view before_tag(std::string_view text, char sign, bool is_variable) const {
    if (sign == '-') return strip(text, std::nullopt, false, true);
    if (sign == '+' || is_variable) return text;
    const size_t line_start = text.rfind('\n') + 1;  // npos + 1 == 0
    if (line_start == 0 && !line_starting_) return text;
    const std::string_view blanks = text.substr(line_start);
    if (blanks.empty() || !strip(blanks, std::nullopt, true, false).empty()) return text;
    return text.substr(0, line_start);
  }

  void data(std::string_view text) {
    if (!text.empty()) push(Tok::kData, std::string(text));
  }

  char sign_at(size_t from) const {
    return from < source_.size() && (source_[from] == '-' || source_[from] == '+') ? source_[from]
                                                                                   : '\0';
  }

  void root() {
    size_t open = at_;
    for (;; ++open) {
      open = source_.find('{', open);
      if (open == std::string::npos || open + 1 >= source_.size()) {
        data(rest());
        advance(source_.size());
        return;
      }
      const char kind = source_[open + 1];
      if (kind == '%' || kind == '{' || kind == '#') break;
    }
    const char kind = source_[open + 1];
    const char sign = sign_at(open + 2);
    const size_t inside = open + 2 + (sign != '\0' ? 1 : 0);
    const std::string_view text = std::string_view(source_).substr(at_, open - at_);
    data(before_tag(text, sign, kind == '{'));
    advance(open);
    if (kind == '#') {
      comment(inside);
    } else if (kind == '{') {
      push(Tok::kVariableBegin, "{{");
      advance(inside);
      code(true);
    } else if (!raw(inside)) {
      push(Tok::kBlockBegin, "{%");
      advance(inside);
      code(false);
    }
  }

  void comment(size_t from) {
    for (size_t at = from; at < source_.size(); ++at) {
      const char c = source_[at];
      if (c != '#' && c != '-' && c != '+') continue;
      const size_t end = match_close(at, "#}");
      if (end == std::string_view::npos) continue;
      line_starting_ = source_[end - 1] == '\n';
      advance(end);
      return;
    }
    fail_at(line_, "missing end of comment tag");
  }

  // {% raw %} ... {% endraw %}
  bool raw(size_t from) {
    const size_t word_end = match_word(from, "raw");
    if (word_end == std::string_view::npos) return false;
    const std::string_view here = rest(word_end);
    size_t begin = 0;
    if (here.substr(0, 3) == "-%}")
      begin = skip_space(word_end + 3);
    else if (here.substr(0, 2) == "%}")
      begin = word_end + 2;
    else
      return false;
    line_starting_ = source_[begin - 1] == '\n';
    advance(begin);
    for (size_t open = source_.find("{%", at_); open != std::string::npos;
         open = source_.find("{%", open + 1)) {
      const char sign = sign_at(open + 2);
      const size_t end_word = match_word(open + 2 + (sign != '\0' ? 1 : 0), "endraw");
      if (end_word == std::string_view::npos) continue;
      const size_t end = match_close(end_word, "%}");
      if (end == std::string_view::npos) continue;
      data(before_tag(std::string_view(source_).substr(at_, open - at_), sign, false));
      line_starting_ = source_[end - 1] == '\n';
      advance(end);
      return true;
    }
    fail_at(line_, "missing end of raw directive");
  }

  // The inside of {{ }} or {% %}, up to and with its end.
  void code(bool variable) {
    std::vector<char> open;
    while (at_ < source_.size()) {
      if (open.empty()) {
        size_t end = std::string_view::npos;
        if (!variable)
          end = match_close(at_, "%}");
        else if (rest().substr(0, 2) == "}}")
          end = at_ + 2;
        else if (rest().substr(0, 3) == "-}}")
          end = skip_space(at_ + 3);
        if (end != std::string_view::npos) {
          push(variable ? Tok::kVariableEnd : Tok::kBlockEnd, variable ? "}}" : "%}");
          line_starting_ = source_[end - 1] == '\n';
          advance(end);
          return;
        }
      }
      const size_t space = skip_space(at_);
      if (space != at_) {
        advance(space);
        continue;
      }
      if (number() || name() || string()) continue;
      operation(&open);
    }
  }

  size_t digits(size_t from) const {  // (\d+_)*\d+ : digits, single underscores between them
    while (from < source_.size() && ascii_digit(source_[from])) {
      ++from;
      if (from + 1 < source_.size() && source_[from] == '_' && ascii_digit(source_[from + 1]))
        ++from;
    }
    return from;
  }

  bool number() {
    if (!ascii_digit(source_[at_])) return false;
    size_t end = digits(at_);
    bool real = false;
    if (at_ == 0 || source_[at_ - 1] != '.') {
      size_t fraction = end;
      if (fraction + 1 < source_.size() && source_[fraction] == '.' &&
          ascii_digit(source_[fraction + 1])) {
        fraction = digits(fraction + 1);
        real = true;
      }
      size_t exponent = fraction;
      if (exponent < source_.size() && (source_[exponent] | 0x20) == 'e') {
        ++exponent;
        if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-'))
          ++exponent;
        if (exponent < source_.size() && ascii_digit(source_[exponent])) {
          fraction = digits(exponent);
          real = true;
        }
      }
      if (real) end = fraction;
    }
    if (!real) end = whole_number_end();
    std::string text = source_.substr(at_, end - at_);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    push(real ? Tok::kFloat : Tok::kInteger, std::move(text));
    advance(end);
    return true;
  }

  size_t whole_number_end() const {
    const auto run = [&](size_t from, auto is_digit) {
      size_t end = from;
      for (;;) {
        const size_t next = end + (end < source_.size() && source_[end] == '_' ? 1 : 0);
        if (next >= source_.size() || !is_digit(source_[next])) return end;
        end = next + 1;
      }
    };
    if (source_[at_] != '0') return digits(at_);
    if (at_ + 1 < source_.size()) {
      const char base = static_cast<char>(source_[at_ + 1] | 0x20);
      size_t end = at_ + 2;
      if (base == 'b') end = run(at_ + 2, [](char c) { return c == '0' || c == '1'; });
      if (base == 'o') end = run(at_ + 2, [](char c) { return c >= '0' && c <= '7'; });
      if (base == 'x')
        end = run(at_ + 2, [](char c) {
          return ascii_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
        });
      if (end > at_ + 2) return end;
    }
    return run(at_ + 1, [](char c) { return c == '0'; });
  }

  bool name() {
    size_t end = at_;
    while (end < source_.size()) {
      const char c = source_[end];
      if (!ascii_alpha(c) && !ascii_digit(c) && c != '_' && static_cast<unsigned char>(c) < 0x80)
        break;
      if (static_cast<unsigned char>(c) >= 0x80) {
        size_t read = end;
        const char32_t point = next_code_point(source_, &read);
        if (!is_word(point) && !is_identifier("a" + source_.substr(end, read - end))) break;
        end = read;
      } else {
        ++end;
      }
    }
    if (end == at_) return false;
    std::string text = source_.substr(at_, end - at_);
    if (!is_identifier(text)) fail_at(line_, "invalid character in identifier '" + text + "'");
    push(Tok::kName, std::move(text));
    advance(end);
    return true;
  }

  bool string() {
    const char quote = source_[at_];
    if (quote != '"' && quote != '\'') return false;
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return false;  // reported as an unexpected character
    push(Tok::kString, unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 1)));
    advance(end + 1);
    return true;
  }

  void hex_escape(std::string_view text, size_t* at, size_t count, std::string* out) const {
    uint32_t c = 0;
    for (size_t k = 0; k < count; ++k, ++*at) {
      const char h = *at < text.size() ? text[*at] : '\0';
      if (!ascii_digit(h) && !((h | 0x20) >= 'a' && (h | 0x20) <= 'f'))
        fail_at(line_, "truncated escape in a string, expected " + std::to_string(count) +
                           " hexadecimal digits");
      c = c * 16 + static_cast<uint32_t>(ascii_digit(h) ? h - '0' : (h | 0x20) - 'a' + 10);
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
      fail_at(line_, "a string escape names no character");
    append_code_point(c, out);
  }

  // Python's unicode-escape, applied after non-ASCII characters were spelled as escapes themselves.
  std::string unescape(std::string_view text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text[at] != '\\' || at + 1 >= text.size()) {
        out.push_back(text[at++]);
        continue;
      }
      const char c = text[++at];
      if (static_cast<unsigned char>(c) >=
          0x80) {  // the backslash escapes that spelling's own backslash
        const char32_t point = next_code_point(text, &at);
        std::array<char, 12> spelled{};
        std::snprintf(spelled.data(), spelled.size(),
                      point < 0x100     ? "x%02x"
                      : point < 0x10000 ? "u%04x"
                                        : "U%08x",
                      static_cast<unsigned>(point));
        out.append("\\").append(spelled.data());
        continue;
      }
      ++at;
      static constexpr std::string_view kLetters = "\\'\"abfnrtv";
      static constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
      const size_t simple = kLetters.find(c);
      if (simple != std::string_view::npos) {
        out.push_back(kValues[simple]);
      } else if (c == 'x') {
        hex_escape(text, &at, 2, &out);
      } else if (c == 'u') {
        hex_escape(text, &at, 4, &out);
      } else if (c == 'U') {
        hex_escape(text, &at, 8, &out);
      } else if (c >= '0' && c <= '7') {
        uint32_t value = static_cast<uint32_t>(c - '0');
        for (int k = 0; k < 2 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++k)
          value = value * 8 + static_cast<uint32_t>(text[at++] - '0');
        append_code_point(value, &out);
      } else if (c == 'N') {
        fail_unsupported(line_, "character names (\\N{...}) in strings are not supported");
      } else if (c != '\n') {
        out.push_back('\\');
        out.push_back(c);
      }
    }
    return out;
  }

  void operation(std::vector<char>* open) {
    static constexpr std::array<std::string_view, 27> kOperators{
        "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]",
        "(",  ")",  "{",  "}",  ">",  "<",  "=", ".", ":", "|", ",", ";", ""};
    std::string_view found;
    for (std::string_view op : kOperators) {
      if (!op.empty() && rest().substr(0, op.size()) == op) {
        found = op;
        break;
      }
    }
    if (found.empty()) {
      size_t read = at_;
      next_code_point(source_, &read);
      fail_at(line_, "unexpected character '" + source_.substr(at_, read - at_) + "'");
    }
    const char c = found[0];
    if (c == '(' || c == '[' || c == '{') open->push_back(c == '(' ? ')' : (c == '[' ? ']' : '}'));
    if (c == ')' || c == ']' || c == '}') {
      if (open->empty()) fail_at(line_, "unexpected '" + std::string(found) + "'");
      if (open->back() != c)
        fail_at(line_, "unexpected '" + std::string(found) + "', expected '" +
                           std::string(1, open->back()) + "'");
      open->pop_back();
    }
    push(Tok::kOperator, std::string(found));
    advance(at_ + found.size());
  }

  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  if (!valid_utf8(source)) fail_at(1, "expected UTF-8, found bytes that are not");
  return Lexer(with_plain_newlines(source)).run();
}

std::string describe(const Token& token) {
  switch (token.type) {
    case Tok::kData:
      return "template text";
    case Tok::kVariableBegin:
    case Tok::kVariableEnd:
    case Tok::kBlockBegin:
    case Tok::kBlockEnd:
    case Tok::kName:
    case Tok::kOperator:
      return "'" + token.text + "'";
    case Tok::kString:
      return "a string";
    case Tok::kInteger:
    case Tok::kFloat:
      return "number " + token.text;
    case Tok::kEnd:
      return "the end of the template";
  }
  return "";
}

}  // namespace spindrift::jinja
