// What both styles of formatting share, and format(value, spec).
#include "chat/jinja/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

std::string group(std::string_view digits, char separator, size_t every) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % every == 0) out.push_back(separator);
    out.push_back(digits[i]);
  }
  return out;
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

std::string format_whole(const FormatSpec& spec, const Value& v) {
  if (spec.precision) fail("a precision is not allowed for whole numbers");
  std::string prefix;
  const BigInt whole = to_big(v);
  const char type = spec.type == '\0' || spec.type == 'n' ? 'd' : spec.type;
  const std::string digits = whole_digits(whole, type, &prefix, spec.alternate);
  return lay_out(spec, whole.negative(), prefix, digits, "", type == 'd' ? 3 : 4);
}

bool is_align(char c) { return c == '<' || c == '>' || c == '^' || c == '='; }

FormatSpec parse_spec(std::string_view text) {
  FormatSpec spec;
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

}  // namespace

std::string pad(const FormatSpec& spec, std::string_view text, char default_align) {
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

std::string lay_out(const FormatSpec& spec, bool negative, std::string_view prefix,
                    std::string digits, std::string_view tail, size_t group_size) {
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

std::string format_float(const FormatSpec& spec, double v) {
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
    if (n > kMaxFormatWidth)
      fail_limit("a format asks for a width or precision of more than 65536");
  }
  return n;
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

std::string format_value(Runtime& rt, const Value& v, std::string_view spec_text) {
  if (spec_text.empty()) return to_str(rt, v);
  rt.tick(16);
  if (!v.is_str() && !v.is_number())
    fail_type("unsupported format string for a value of type " + type_name(v));
  const FormatSpec spec = parse_spec(spec_text);
  static constexpr std::string_view kFloatTypes = "eEfFgG%";
  if (v.is_str()) {
    if (spec.type != '\0' && spec.type != 's')
      fail("unknown format code '" + std::string(1, spec.type) + "' for text");
    if (spec.sign != '-' || spec.alternate || spec.grouping != '\0' || spec.align == '=')
      fail("a format of numbers was given for text");
    std::string_view text = v.text();
    if (spec.precision)
      text = text.substr(0, byte_offset(text, static_cast<size_t>(*spec.precision)));
    FormatSpec laid = spec;
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
