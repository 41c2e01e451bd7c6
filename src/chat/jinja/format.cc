// printf-style and brace-style text formatting, as Python's str has them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "chat/jinja/builtins.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

constexpr int64_t kMaxWidth = 1 << 16;  // also of precisions: nobody lays out wider text

// One parsed directive of either style.
struct Spec {
  std::string fill = " ";
  char align = '\0';  // '<' '>' '^' '=', or none given
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  char grouping = '\0';
  std::optional<int64_t> precision;
  char type = '\0';
};

std::string pad(const Spec& spec, std::string_view text, char default_align) {
  const auto size = static_cast<int64_t>(count_code_points(text));
  if (size >= spec.width) return std::string(text);
  const int64_t missing = spec.width - size;
  const char align = spec.align == '\0' ? default_align : spec.align;
  const int64_t left = align == '<' ? 0 : (align == '^' ? missing / 2 : missing);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out += spec.fill;
  out += text;
  for (int64_t i = left; i < missing; ++i) out += spec.fill;
  return out;
}

std::string group(std::string_view digits, char separator, size_t every) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % every == 0) out.push_back(separator);
    out.push_back(digits[i]);
  }
  return out;
}

// Sign, prefix (0x) and digits (integer digits, then the rest from `tail`) laid out in the width.
std::string lay_out(const Spec& spec, bool negative, std::string_view prefix, std::string digits,
                    std::string_view tail, size_t group_size = 3) {
  std::string head = negative ? "-" : (spec.sign == '+' ? "+" : (spec.sign == ' ' ? " " : ""));
  head += prefix;
  const bool inside = spec.align == '=' || (spec.align == '\0' && spec.zero);
  const std::string fill = spec.zero && spec.align == '\0' ? "0" : spec.fill;
  std::string grouped = spec.grouping == '\0' ? digits : group(digits, spec.grouping, group_size);
  const auto width_left = [&] {
    return spec.width - static_cast<int64_t>(head.size() + grouped.size() + tail.size());
  };
  if (inside && spec.grouping != '\0' && fill == "0") {
    while (width_left() > 0) {
      digits.insert(0, "0");
      grouped = group(digits, spec.grouping, group_size);
    }
  }
  if (!inside) return pad(spec, head + grouped + std::string(tail), '>');
  std::string padding;
  for (int64_t i = width_left(); i > 0; --i) padding += fill;
  return head + padding + grouped + std::string(tail);
}

std::string print_float(const char* format, int64_t precision, double v) {
  char small[512];
  const int size = std::snprintf(small, sizeof small, format, static_cast<int>(precision), v);
  if (size < static_cast<int>(sizeof small)) return small;
  std::string out(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(out.data(), out.size(), format, static_cast<int>(precision), v);
  out.pop_back();
  return out;
}

// |v| in a printf style: 'e' 'f' 'g' and their capitals.
std::string float_digits(double v, char type, int64_t precision, bool alternate) {
  const double magnitude = std::fabs(v);
  if (!std::isfinite(v)) {
    const bool capital = type == 'E' || type == 'F' || type == 'G';
    return std::isnan(v) ? (capital ? "NAN" : "nan") : (capital ? "INF" : "inf");
  }
  switch (type) {
    case 'e':
      return print_float(alternate ? "%#.*e" : "%.*e", precision, magnitude);
    case 'E':
      return print_float(alternate ? "%#.*E" : "%.*E", precision, magnitude);
    case 'g':
      return print_float(alternate ? "%#.*g" : "%.*g", precision, magnitude);
    case 'G':
      return print_float(alternate ? "%#.*G" : "%.*G", precision, magnitude);
    default:
      return print_float(alternate ? "%#.*f" : "%.*f", precision, magnitude);
  }
}

std::string format_float(const Spec& spec, double v) {
  std::string text;
  const bool negative = std::signbit(v) && !std::isnan(v);
  if (spec.type == '\0' && !spec.precision) {
    text = float_repr(std::fabs(v));
  } else if (spec.type == '\0') {
    text = float_digits(v, 'g', std::max<int64_t>(1, *spec.precision), spec.alternate);
    if (std::isfinite(v)) {
      // Without a type, a fixed-point result keeps one digit after the point, and the exponent form
      // starts one earlier.
      const size_t e = text.find('e');
      const double magnitude = std::fabs(v);
      if (e == std::string::npos) {
        if (magnitude >=
                std::pow(10.0, static_cast<double>(std::max<int64_t>(1, *spec.precision) - 1)) &&
            text.find('.') == std::string::npos && magnitude != 0.0) {
          text = float_digits(v, 'e', std::max<int64_t>(1, *spec.precision) - 1, spec.alternate);
          const size_t exponent = text.find('e');
          std::string mantissa = text.substr(0, exponent);
          if (mantissa.find('.') != std::string::npos) {
            mantissa.erase(mantissa.find_last_not_of('0') + 1);
            if (mantissa.back() == '.') mantissa.pop_back();
          }
          text = mantissa + text.substr(exponent);
        } else if (text.find('.') == std::string::npos) {
          text += ".0";
        }
      }
    }
  } else if (spec.type == '%') {
    text = float_digits(v * 100, 'f', spec.precision.value_or(6), spec.alternate) + "%";
  } else {
    const char type = spec.type == 'n' ? 'g' : spec.type;
    int64_t precision = spec.precision.value_or(6);
    if ((type == 'g' || type == 'G') && precision == 0) precision = 1;
    text = float_digits(v, type, precision, spec.alternate);
  }
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  return lay_out(spec, negative, "", text.substr(0, end), std::string_view(text).substr(end));
}

std::string whole_digits(const BigInt& v, char type, std::string* prefix, bool alternate) {
  const uint32_t base =
      type == 'x' || type == 'X' ? 16 : (type == 'o' ? 8 : (type == 'b' ? 2 : 10));
  std::string digits = (v.negative() ? -v : v).to_string(base);
  if (type == 'X')
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (alternate && base != 10) *prefix = std::string("0") + type;
  return digits;
}

std::string format_whole(const Spec& spec, const Value& v) {
  if (spec.precision) fail("a precision is not allowed for whole numbers");
  std::string prefix;
  const BigInt whole = to_big(v);
  const char type = spec.type == '\0' || spec.type == 'n' ? 'd' : spec.type;
  const std::string digits = whole_digits(whole, type, &prefix, spec.alternate);
  return lay_out(spec, whole.negative(), prefix, digits, "", type == 'd' ? 3 : 4);
}

std::string character(const Value& v) {
  const auto c = to_big(v).to_int64();
  if (!c || *c < 0 || *c > 0x10FFFF || (*c >= 0xD800 && *c < 0xE000)) fail("%c: no such character");
  std::string out;
  append_code_point(static_cast<char32_t>(*c), &out);
  return out;
}

int64_t read_number(std::string_view text, size_t* at) {
  int64_t n = 0;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9') {
    n = n * 10 + (text[(*at)++] - '0');
    if (n > kMaxWidth) fail_limit("a format asks for a width or precision of more than 65536");
  }
  return n;
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

Spec parse_spec(std::string_view text) {
  Spec spec;
  size_t at = 0;
  if (!text.empty()) {
    size_t fill_end = 0;
    next_code_point(text, &fill_end);
    if (fill_end < text.size() && is_align(text[fill_end])) {
      spec.fill = text.substr(0, fill_end);
      spec.align = text[fill_end];
      at = fill_end + 1;
    } else if (is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
  }
  const auto take = [&](std::string_view any) {
    if (at < text.size() && any.find(text[at]) != std::string_view::npos) return text[at++];
    return '\0';
  };
  if (const char sign = take("+- "); sign != '\0') spec.sign = sign;
  spec.alternate = take("#") != '\0';
  if (take("0") != '\0') {
    spec.zero = true;
    if (spec.align != '\0' && spec.fill == " ") spec.fill = "0";
  }
  spec.width = read_number(text, &at);
  spec.grouping = take(",_");
  if (take(".") != '\0') {
    if (at == text.size() || text[at] < '0' || text[at] > '9')
      fail("format specifier is missing its precision");
    spec.precision = read_number(text, &at);
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) fail("invalid format specifier '" + std::string(text) + "'");
  return spec;
}

std::string ascii_repr(Runtime& rt, const Value& v) {
  const std::string repr = to_repr(rt, v);
  std::string out;
  for (size_t at = 0; at < repr.size();) {
    const char32_t c = next_code_point(repr, &at);
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
      continue;
    }
    char escape[12];
    std::snprintf(escape, sizeof escape,
                  c < 0x100 ? "\\x%02x" : (c < 0x10000 ? "\\u%04x" : "\\U%08x"),
                  static_cast<unsigned>(c));
    out += escape;
  }
  return out;
}

void check_size(Runtime& rt, const std::string& out) {
  rt.scanned(out.size() / 64);
  if (out.size() > rt.limits().text) fail_limit("a text in the template grew too large");
}

// ---- "%..." % args

class Percent {
 public:
  Percent(Runtime& rt, const Str& format, const Value& args)
      : rt_(rt), format_(format.view()), html_(format.markup), args_(args) {}

  std::string run() {
    for (at_ = 0; at_ < format_.size();) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      out_ += format_.substr(at_, percent - at_);
      at_ = percent + 1;
      if (percent < format_.size()) directive();
      check_size(rt_, out_);
    }
    // A single list or dict counts as a mapping, of which not every entry need be used.
    const bool all = args_.is(Kind::kTuple)
                         ? next_ >= args_.list->size
                         : (next_ > 0 || args_.is(Kind::kDict) || args_.is(Kind::kList));
    if (!all) fail_type("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  char now() const {
    if (at_ >= format_.size()) fail("incomplete format");
    return format_[at_];
  }

  Value argument() {
    if (mapped_value_) return *mapped_value_;
    if (args_.is(Kind::kTuple)) {
      if (next_ >= args_.list->size) fail_type("not enough arguments for format string");
      return args_.list->data[next_++];
    }
    if (next_++ > 0) fail_type("not enough arguments for format string");
    return args_;
  }

  void directive() {
    Spec spec;
    mapped_value_.reset();
    if (now() == '(') {
      const size_t close = format_.find(')', at_);
      if (close == std::string_view::npos) fail("incomplete format key");
      if (!args_.is(Kind::kDict)) fail_type("format requires a mapping");
      const Value* v = find(*args_.dict, format_.substr(at_ + 1, close - at_ - 1));
      if (v == nullptr)
        fail("format: no key '" + std::string(format_.substr(at_ + 1, close - at_ - 1)) + "'");
      mapped_value_ = *v;
      at_ = close + 1;
    }
    for (bool more = true; more;) {
      switch (now()) {
        case '-':
          spec.align = '<';
          break;
        case '+':
          spec.sign = '+';
          break;
        case ' ':
          if (spec.sign != '+') spec.sign = ' ';
          break;
        case '#':
          spec.alternate = true;
          break;
        case '0':
          spec.zero = true;
          break;
        default:
          more = false;
      }
      if (more) ++at_;
    }
    spec.width = amount();
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (now() == '.') {
      ++at_;
      spec.precision = std::max<int64_t>(0, amount());
    }
    if (now() == 'l' || now() == 'h' || now() == 'L') ++at_;
    const char type = now();
    ++at_;
    convert(type, spec);
  }

  int64_t amount() {
    if (now() != '*') return read_number(format_, &at_);
    ++at_;
    const int64_t n = index_of(argument(), "a format width");
    if (n > kMaxWidth || n < -kMaxWidth)
      fail_limit("a format asks for a width or precision of more than 65536");
    return n;
  }

  std::string shown(const Value& v) {
    const std::string plain = to_str(rt_, v);
    return html_ && !(v.is_str() && v.str->markup) ? escape_html(plain) : plain;
  }

  void text(Spec spec, std::string value) {
    spec.zero = false;
    if (spec.precision) value.resize(byte_offset(value, static_cast<size_t>(*spec.precision)));
    out_ += pad(spec, value, '>');
  }

  void convert(char type, Spec spec) {
    switch (type) {
      case '%':
        out_.push_back('%');
        return;
      case 's':
        return text(spec, shown(argument()));
      case 'r':
        return text(spec, to_repr(rt_, argument()));
      case 'a':
        return text(spec, ascii_repr(rt_, argument()));
      case 'c': {
        const Value v = argument();
        if (v.is_str() && v.str->length == 1) return text(spec, std::string(v.text()));
        if (!v.is_whole()) fail_type("%c requires a whole number or one character");
        return text(spec, character(v));
      }
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return whole(type, spec);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': {
        Value v = argument();
        if (v.is_undefined()) fail_undefined(v);
        if (!v.is_number()) fail_type("a real number is required for %" + std::string(1, type));
        spec.type = type;
        if (spec.align == '<') spec.zero = false;
        out_ += format_float(spec, to_real(v));
        return;
      }
      default:
        fail("unsupported format character '" + std::string(1, type) + "'");
    }
  }

  void whole(char type, Spec spec) {
    const Value v = argument();
    if (v.is_undefined()) fail_undefined(v);
    BigInt n;
    const bool decimal = type == 'd' || type == 'i' || type == 'u';
    if (v.is_whole())
      n = to_big(v);
    else if (v.is(Kind::kFloat) && decimal && std::isfinite(v.real))
      n = BigInt::from_double_trunc(v.real);
    else
      fail_type("a number is required for %" + std::string(1, type));
    std::string prefix;
    std::string digits = whole_digits(n, decimal ? 'd' : type, &prefix, spec.alternate);
    if (spec.precision && static_cast<size_t>(*spec.precision) > digits.size())
      digits.insert(0, static_cast<size_t>(*spec.precision) - digits.size(), '0');
    if (spec.align == '<') spec.zero = false;
    out_ += lay_out(spec, n.negative(), prefix, digits, "");
  }

  Runtime& rt_;
  std::string_view format_;
  bool html_;
  const Value& args_;
  size_t at_ = 0;
  size_t next_ = 0;
  std::optional<Value> mapped_value_;
  std::string out_;
};

// ---- "{...}".format(args)

class Braces {
 public:
  Braces(Runtime& rt, bool html, const Arguments& args) : rt_(rt), html_(html), args_(args) {}

  std::string run(std::string_view format, int depth) {
    if (depth < 0) fail("format: replacement fields nest too deep");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if (c != '{' && c != '}') {
        out.push_back(c);
        ++at;
        continue;
      }
      if (at + 1 < format.size() && format[at + 1] == c) {
        out.push_back(c);
        at += 2;
        continue;
      }
      if (c == '}') fail("format: single '}' in the text");
      const size_t end = closing(format, at + 1);
      out += field(format.substr(at + 1, end - at - 1), depth);
      check_size(rt_, out);
      at = end + 1;
    }
    return out;
  }

 private:
  static size_t closing(std::string_view format, size_t at) {
    int open = 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    fail("format: expected '}' before the end of the text");
  }

  std::string field(std::string_view text, int depth) {
    // The name ends at the first ! or : outside of [...].
    size_t end = 0;
    bool bracket = false;
    while (end < text.size() && (bracket || (text[end] != '!' && text[end] != ':'))) {
      if (text[end] == '[') bracket = true;
      if (text[end] == ']') bracket = false;
      ++end;
    }
    Value v = lookup(text.substr(0, end));
    std::string_view rest = text.substr(end);
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        fail("format: expected ':' after the conversion");
      if (rest[1] == 's')
        v = rt_.text(to_str(rt_, v));
      else if (rest[1] == 'r')
        v = rt_.text(to_repr(rt_, v));
      else if (rest[1] == 'a')
        v = rt_.text(ascii_repr(rt_, v));
      else
        fail("format: unknown conversion");
      rest.remove_prefix(2);
    }
    const std::string spec = rest.empty() ? "" : run(rest.substr(1), depth - 1);
    const std::string plain = format_value(rt_, v, spec);
    return html_ && !(v.is_str() && v.str->markup) ? escape_html(plain) : plain;
  }

  Value lookup(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    Value v = first(name.substr(0, end));
    for (size_t at = end; at < name.size();) {
      if (name[at] == '.') {
        const size_t next = std::min(name.find_first_of(".[", at + 1), name.size());
        if (next == at + 1) fail("format: empty attribute");
        v = get_attribute(rt_, v, rt_.str(name.substr(at + 1, next - at - 1)));
        at = next;
      } else if (name[at] == '[') {
        const size_t close = name.find(']', at);
        if (close == std::string_view::npos) fail("format: missing ']'");
        v = get_item(rt_, v, key(name.substr(at + 1, close - at - 1)));
        at = close + 1;
      } else {
        fail("format: only '.' or '[' may follow ']'");
      }
    }
    return v;
  }

  Value key(std::string_view text) {
    if (text.empty()) fail("format: empty attribute");
    int64_t number = 0;
    return whole_number(text, &number) ? Value::of(number) : rt_.text(text);
  }

  static bool whole_number(std::string_view text, int64_t* number) {
    if (text.empty() || text.size() > 9) return false;
    for (char c : text)
      if (c < '0' || c > '9') return false;
    *number = std::stoll(std::string(text));
    return true;
  }

  Value first(std::string_view name) {
    int64_t number = 0;
    if (name.empty()) {
      if (manual_)
        fail("format: cannot switch from manual field specification to automatic field numbering");
      automatic_ = true;
      number = next_++;
    } else if (whole_number(name, &number)) {
      if (automatic_)
        fail("format: cannot switch from automatic field numbering to manual field specification");
      manual_ = true;
    } else {
      for (const auto& [other, value] : args_.named)
        if (other->view() == name) return value;
      fail("format: no argument named '" + std::string(name) + "'");
    }
    if (number >= static_cast<int64_t>(args_.positional.size()))
      fail("format: not enough arguments");
    return args_.positional[static_cast<size_t>(number)];
  }

  Runtime& rt_;
  bool html_;
  const Arguments& args_;
  int64_t next_ = 0;
  bool automatic_ = false;
  bool manual_ = false;
};

}  // namespace

std::string format_percent(Runtime& rt, const Str& format, const Value& args) {
  return Percent(rt, format, args).run();
}

std::string format_braces(Runtime& rt, const Str& format, const Arguments& args) {
  return Braces(rt, format.markup, args).run(format.view(), 2);
}

std::string format_value(Runtime& rt, const Value& v, std::string_view spec_text) {
  if (spec_text.empty()) return to_str(rt, v);
  rt.tick(16);
  if (!v.is_str() && !v.is_number())
    fail_type("unsupported format string for a value of type " + type_name(v));
  const Spec spec = parse_spec(spec_text);
  static constexpr std::string_view kFloatTypes = "eEfFgG%";
  if (v.is_str()) {
    if (spec.type != '\0' && spec.type != 's')
      fail("unknown format code '" + std::string(1, spec.type) + "' for text");
    if (spec.sign != '-' || spec.alternate || spec.grouping != '\0' || spec.align == '=')
      fail("a format of numbers was given for text");
    std::string_view text = v.text();
    if (spec.precision)
      text = text.substr(0, byte_offset(text, static_cast<size_t>(*spec.precision)));
    Spec laid = spec;
    if (spec.zero && spec.align == '\0') laid.fill = "0";
    return pad(laid, text, '<');
  }
  const bool float_type =
      kFloatTypes.find(spec.type) != std::string_view::npos && spec.type != '\0';
  if (v.is(Kind::kFloat)) {
    if (spec.type != '\0' && spec.type != 'n' && !float_type)
      fail("unknown format code '" + std::string(1, spec.type) + "' for a float");
    return format_float(spec, v.real);
  }
  if (float_type) return format_float(spec, to_real(v));
  if (spec.type == 'c') return pad(spec, character(v), '<');
  static constexpr std::string_view kWholeTypes = "bdnoxX";
  if (spec.type != '\0' && kWholeTypes.find(spec.type) == std::string_view::npos)
    fail("unknown format code '" + std::string(1, spec.type) + "' for a whole number");
  return format_whole(spec, v);
}

}  // namespace spindrift::jinja
