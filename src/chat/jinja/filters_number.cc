// Filters on numbers, and conversions to them.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>

#include "chat/jinja/filters.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

const Value& subject(const Arguments& args) { return args.positional[0]; }

// Text as int() and float() read it: white space off, digits of any script as ASCII, single
// underscores between digits gone; nullopt when an underscore is misplaced.
std::optional<std::string> plain_number(std::string_view text) {
  text = strip(text, std::nullopt, true, true);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, &at);
    const int digit = decimal_value(c);
    if (digit >= 0) {
      out.push_back(static_cast<char>('0' + digit));
    } else if (c == '_') {
      const bool after = !out.empty() && std::isalnum(static_cast<unsigned char>(out.back())) != 0;
      const bool before =
          at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0);
      if (!after || !before) return std::nullopt;
    } else if (c >= 0x80) {
      return std::nullopt;
    } else {
      out.push_back(static_cast<char>(c));
    }
  }
  return out;
}

std::optional<double> parse_float(std::string_view text) {
  const auto plain = plain_number(text);
  if (!plain || plain->empty()) return std::nullopt;
  for (char c : *plain)
    if (c == 'x' || c == 'X' || c == '(' || c == ' ')
      return std::nullopt;  // strtod knows more than float()
  char* end = nullptr;
  const double value = std::strtod(plain->c_str(), &end);
  if (end != plain->c_str() + plain->size()) return std::nullopt;
  return value;
}

std::optional<BigInt> parse_whole(std::string_view text, int64_t base) {
  if (base != 0 && (base < 2 || base > 36)) return std::nullopt;
  auto plain = plain_number(text);
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  bool negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  const char letter =
      digits.size() > 2 && digits[0] == '0' ? static_cast<char>(digits[1] | 0x20) : '\0';
  const int64_t named = letter == 'x' ? 16 : (letter == 'o' ? 8 : (letter == 'b' ? 2 : 0));
  if (named != 0 && (base == 0 || base == named)) {
    base = named;
    digits.remove_prefix(2);
  } else if (base == 0) {
    if (digits.size() > 1 && digits[0] == '0' &&
        digits.find_first_not_of('0') != std::string_view::npos)
      return std::nullopt;
    base = 10;
  }
  if (digits.empty()) return std::nullopt;
  for (char c : digits) {
    const int digit = c >= '0' && c <= '9'
                          ? c - '0'
                          : ((c | 0x20) >= 'a' && (c | 0x20) <= 'z' ? (c | 0x20) - 'a' + 10 : 99);
    if (digit >= base) return std::nullopt;
  }
  if (digits.size() > 4300) return std::nullopt;
  const BigInt value = BigInt::from_digits(digits, static_cast<uint32_t>(base));
  return negative ? -value : value;
}

Value int_filter(Runtime& rt, const Arguments& args) {
  const Bound bound("int", args, 1, {"default", "base"});
  const Value& v = subject(args);
  const Value fallback = bound.get(0) == nullptr ? Value::of(int64_t{0}) : *bound.get(0);
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_whole()) return rt.whole(to_big(v));
  if (v.is(Kind::kFloat)) {
    if (std::isinf(v.real)) fail("cannot convert float infinity to integer");
    return std::isnan(v.real) ? fallback : rt.whole(BigInt::from_double_trunc(v.real));
  }
  if (!v.is_str()) return fallback;
  rt.scanned(8 * v.str->size);
  if (const auto whole = parse_whole(v.text(), bound.whole(1, 10))) return rt.whole(*whole);
  const auto real = parse_float(v.text());
  return real && std::isfinite(*real) ? rt.whole(BigInt::from_double_trunc(*real)) : fallback;
}

Value float_filter(Runtime& rt, const Arguments& args) {
  const Bound bound("float", args, 1, {"default"});
  const Value& v = subject(args);
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_number()) return Value::of(to_real(v));
  if (v.is_str()) {
    rt.scanned(8 * v.str->size);
    if (const auto real = parse_float(v.text())) return Value::of(*real);
  }
  return bound.get(0) == nullptr ? Value::of(0.0) : *bound.get(0);
}

Value abs_filter(Runtime& rt, const Arguments& args) {
  const Bound bound("abs", args, 1, {});
  const Value& v = subject(args);
  if (v.is_undefined()) fail_undefined(v);
  if (v.is(Kind::kFloat)) return Value::of(std::fabs(v.real));
  if (!v.is_whole()) fail_type("abs needs a number, found " + type_name(v));
  const BigInt whole = to_big(v);
  return rt.whole(whole.negative() ? -whole : whole);
}

// v rounded to a multiple of 10^places, half to even.
BigInt round_whole(const BigInt& v, uint64_t places) {
  if (places > BigInt::kMaxBits / 3) return BigInt();
  const BigInt unit = BigInt::pow(BigInt(10), places);
  BigInt quotient;
  BigInt rest;
  BigInt::divmod(v, unit, &quotient, &rest);
  const int half = compare(rest + rest, unit);
  BigInt ignored;
  BigInt odd;
  BigInt::divmod(quotient, BigInt(2), &ignored, &odd);
  if (half > 0 || (half == 0 && !odd.zero())) quotient = quotient + BigInt(1);
  return quotient * unit;
}

double round_float(double v, int64_t places) {
  if (!std::isfinite(v) || places > 323) return v;
  if (places < -308) return std::copysign(0.0, v);
  if (places >= 0) {
    char buffer[700];
    std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(places), v);
    return std::strtod(buffer, nullptr);
  }
  // The exact value decides: a fraction breaks a tie upwards.
  const double magnitude = std::fabs(v);
  const BigInt whole = BigInt::from_double_trunc(magnitude);
  const bool fraction = magnitude != std::trunc(magnitude);
  const auto up = static_cast<uint64_t>(-places);
  const BigInt doubled = whole + whole + BigInt(fraction ? 1 : 0);
  const BigInt unit = BigInt::pow(BigInt(10), up);
  BigInt quotient;
  BigInt rest;
  BigInt::divmod(doubled, unit + unit, &quotient, &rest);
  BigInt ignored;
  BigInt odd;
  BigInt::divmod(quotient, BigInt(2), &ignored, &odd);
  const int half = compare(rest, unit);
  if (half > 0 || (half == 0 && !odd.zero())) quotient = quotient + BigInt(1);
  return std::copysign((quotient * unit).to_double(), v);
}

Value round_filter(Runtime& rt, const Arguments& args) {
  const Bound bound("round", args, 1, {"precision", "method"});
  const Value& v = subject(args);
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_number()) fail_type("round needs a number, found " + type_name(v));
  std::string_view method = "common";
  if (bound.get(1) != nullptr) {
    if (!bound.get(1)->is_str()) fail("round: the method must be common, ceil or floor");
    method = bound.get(1)->text();
  }
  const int64_t precision = bound.whole(0, 0);
  rt.tick(64);
  if (method == "common") {
    if (v.is(Kind::kFloat)) return Value::of(round_float(v.real, precision));
    if (precision >= 0) return rt.whole(to_big(v));
    return rt.whole(round_whole(to_big(v), uint64_t{0} - static_cast<uint64_t>(precision)));
  }
  if (method != "ceil" && method != "floor")
    fail("round: the method must be common, ceil or floor");
  const Value power = arithmetic(rt, Op::kPower, Value::of(int64_t{10}), Value::of(precision));
  const Value scaled = arithmetic(rt, Op::kMultiply, v, power);
  Value cut = scaled;
  if (scaled.is(Kind::kFloat)) {
    if (!std::isfinite(scaled.real)) fail("round needs a finite number");
    cut = rt.whole(BigInt::from_double_trunc(method == "ceil" ? std::ceil(scaled.real)
                                                              : std::floor(scaled.real)));
  }
  return arithmetic(rt, Op::kDivide, cut, power);
}

constexpr Builtin kFilters[] = {
    {"int", int_filter}, {"float", float_filter}, {"abs", abs_filter}, {"round", round_filter}};

}  // namespace

std::span<const Builtin> number_filters() { return kFilters; }

}  // namespace spindrift::jinja
