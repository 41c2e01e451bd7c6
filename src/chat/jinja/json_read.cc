#include <charconv>
#include <cstdlib>
#include <limits>

#include "chat/jinja/json.h"
#include "chat/jinja/text.h"
#include "core/utf8.h"

namespace spindrift::jinja {
namespace {

class Reader {
 public:
  Reader(Runtime& rt, std::string_view text, const std::string& what)
      : rt_(rt), text_(text), what_(what) {}

  Value whole_text() {
    if (!valid_utf8(text_)) fail(what_ + ": expected UTF-8, found bytes that are not");
    rt_.scanned(text_.size());
    const Value v = value();
    skip_space();
    if (at_ != text_.size()) bad("expected the end");
    return v;
  }

 private:
  [[noreturn]] void bad(const std::string& expected) const {
    std::string found =
        at_ < text_.size() ? "found '" + std::string(text_.substr(at_, 1)) + "'" : "found the end";
    if (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) < 0x20 ||
                               static_cast<unsigned char>(text_[at_]) >= 0x7F))
      found = "found something else";
    fail(what_ + ": not JSON at byte " + std::to_string(at_) + " (" + expected + ", " + found +
         ")");
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  bool skip(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Value value() {
    rt_.tick();
    if (++depth_ > kMaxJsonDepth)
      fail(what_ + ": nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    skip_space();
    const Value v = one_value();
    --depth_;
    return v;
  }

  Value one_value() {
    if (at_ >= text_.size()) bad("expected a value");
    switch (text_[at_]) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string();
      default:
        break;
    }
    if (skip("true")) return Value::of(true);
    if (skip("false")) return Value::of(false);
    if (skip("null")) return Value::none();
    if (skip("NaN")) return Value::of(std::numeric_limits<double>::quiet_NaN());
    if (skip("Infinity")) return Value::of(std::numeric_limits<double>::infinity());
    if (skip("-Infinity")) return Value::of(-std::numeric_limits<double>::infinity());
    return number();
  }

  bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  void digits() {
    if (!digit()) bad("expected a digit");
    while (digit()) ++at_;
  }

  Value number() {
    const size_t begin = at_;
    if (text_[at_] == '-') ++at_;
    if (!digit()) {
      at_ = begin;
      bad("expected a value");
    }
    if (text_[at_] == '0')
      ++at_;
    else
      digits();
    bool whole = true;
    const size_t integer_end = at_;
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      if (digit()) {
        digits();
        whole = false;
      } else {
        at_ = integer_end;
        bad("expected the end of a number");
      }
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) ++at_;
      digits();
      whole = false;
    }
    const std::string_view spelling = text_.substr(begin, at_ - begin);
    if (!whole) return Value::of(std::strtod(std::string(spelling).c_str(), nullptr));
    int64_t small = 0;
    const auto parsed = std::from_chars(spelling.data(), spelling.data() + spelling.size(), small);
    if (parsed.ec == std::errc()) return Value::of(small);
    if (spelling.size() > kMaxDigits)
      fail(what_ + ": a number has more than " + std::to_string(kMaxDigits) + " digits");
    return rt_.whole(BigInt::from_digits(spelling));
  }

  uint32_t hex4() {
    if (text_.size() - at_ < 4) bad("expected four hexadecimal digits");
    uint32_t c = 0;
    const char* first = text_.data() + at_;
    if (std::from_chars(first, first + 4, c, 16).ptr != first + 4)
      bad("expected four hexadecimal digits");
    at_ += 4;
    return c;
  }

  void escape(std::string* out) {
    if (at_ >= text_.size()) bad("expected an escape");
    switch (text_[at_++]) {
      case '"':
        out->push_back('"');
        return;
      case '\\':
        out->push_back('\\');
        return;
      case '/':
        out->push_back('/');
        return;
      case 'b':
        out->push_back('\b');
        return;
      case 'f':
        out->push_back('\f');
        return;
      case 'n':
        out->push_back('\n');
        return;
      case 'r':
        out->push_back('\r');
        return;
      case 't':
        out->push_back('\t');
        return;
      case 'u':
        break;
      default:
        --at_;
        bad("expected an escape");
    }
    uint32_t c = hex4();
    if (c >= 0xD800 && c < 0xDC00 && skip("\\u")) {
      const uint32_t low = hex4();
      if (low >= 0xDC00 && low < 0xE000) c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    if (c >= 0xD800 && c < 0xE000) bad("expected a pair of surrogates, which text in UTF-8 needs");
    append_code_point(c, out);
  }

  Value string() {
    ++at_;
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
           static_cast<unsigned char>(text_[at_]) >= 0x20)
      ++at_;
    if (at_ < text_.size() && text_[at_] == '"')
      return rt_.text(text_.substr(begin, at_++ - begin));
    std::string out(text_.substr(begin, at_ - begin));
    for (;;) {
      if (at_ >= text_.size() || static_cast<unsigned char>(text_[at_]) < 0x20)
        bad("expected the end of a string");
      const char c = text_[at_++];
      if (c == '"') return rt_.text(out);
      if (c == '\\')
        escape(&out);
      else
        out.push_back(c);
    }
  }

  Value array() {
    ++at_;
    std::vector<Value> items;
    skip_space();
    if (skip("]")) return rt_.list(items);
    for (;;) {
      items.push_back(value());
      skip_space();
      if (skip("]")) return rt_.list(items);
      if (!skip(",")) bad("expected ',' or ']'");
    }
  }

  Value object() {
    ++at_;
    DictBuilder dict(rt_);
    skip_space();
    if (skip("}")) return Value::of(dict.build());
    for (;;) {
      skip_space();
      if (at_ >= text_.size() || text_[at_] != '"') bad("expected a key in double quotes");
      const Value key = string();
      skip_space();
      if (!skip(":")) bad("expected ':'");
      dict.set(key, value());
      skip_space();
      if (skip("}")) return Value::of(dict.build());
      if (!skip(",")) bad("expected ',' or '}'");
    }
  }

  static constexpr size_t kMaxDigits = 4300;  // as CPython
  Runtime& rt_;
  std::string_view text_;
  const std::string& what_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Value read_json(Runtime& rt, std::string_view text, const std::string& what) {
  return Reader(rt, text, what).whole_text();
}

}  // namespace spindrift::jinja
