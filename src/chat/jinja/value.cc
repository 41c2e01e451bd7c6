#include "chat/jinja/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>

#include "chat/jinja/runtime.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

// -1, 0, 1, or 2 when a NaN is involved.
int compare_numbers(const Value& a, const Value& b) {
  const auto sign = [](auto x, auto y) { return x < y ? -1 : (x > y ? 1 : 0); };
  const auto small = [](const Value& v) {
    return v.is(Kind::kBool) ? int64_t{v.boolean} : v.integer;
  };
  if (a.is(Kind::kFloat) && b.is(Kind::kFloat))
    return std::isnan(a.real) || std::isnan(b.real) ? 2 : sign(a.real, b.real);
  if (a.is(Kind::kFloat)) {
    const int swapped = compare_numbers(b, a);
    return swapped == 2 ? 2 : -swapped;
  }
  if (!b.is(Kind::kFloat)) {
    if (a.is(Kind::kBig) || b.is(Kind::kBig)) return compare(to_big(a), to_big(b));
    return sign(small(a), small(b));
  }
  if (std::isnan(b.real)) return 2;
  if (std::isinf(b.real)) return b.real > 0 ? -1 : 1;
  const double whole = std::trunc(b.real);
  const int order = compare(to_big(a), BigInt::from_double_trunc(whole));
  return order != 0 ? order : sign(whole, b.real);
}

bool same_range(const Range& a, const Range& b) {
  if (a.size() != b.size()) return false;
  if (a.size() == 0) return true;
  return a.start == b.start && (a.size() == 1 || a.step == b.step);
}

uint64_t mix(uint64_t h) {
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdULL;
  h ^= h >> 33;
  return h;
}

}  // namespace

bool truthy(Runtime& rt, const Value& v) {
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return v.boolean;
    case Kind::kInt:
      return v.integer != 0;
    case Kind::kFloat:
      return v.real != 0.0;
    case Kind::kStr:
      return v.str->size != 0;
    case Kind::kList:
    case Kind::kTuple:
      return v.list->size != 0;
    case Kind::kDict:
      return v.dict->size != 0;
    case Kind::kView:
      return v.view->dict->size != 0;
    case Kind::kRange:
      return v.range->size() != 0;
    case Kind::kLoop:
      return loop_length(rt, *v.loop) != 0;
    default:
      return true;
  }
}

std::string type_name(const Value& v) {
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
    case Kind::kBig:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kStr:
      return v.str->markup ? "Markup" : "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kView:
      return v.view->part == View::Part::kKeys     ? "dict_keys"
             : v.view->part == View::Part::kValues ? "dict_values"
                                                   : "dict_items";
    case Kind::kRange:
      return "range";
    case Kind::kIter:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kMacro:
      return "Macro";
    case Kind::kMethod:
      return "method";
    case Kind::kFunction:
      return "function";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
  }
  return "object";
}

bool equals(Runtime& rt, const Value& a, const Value& b) {
  rt.tick();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kStr:
      if (a.str->size != b.str->size) return false;
      rt.scanned(a.str->size);
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple: {
      if (a.list->size != b.list->size) return false;
      if (a.list == b.list) return true;
      const DepthGuard guard(rt);
      for (size_t i = 0; i < a.list->size; ++i)
        if (!equals(rt, a.list->data[i], b.list->data[i])) return false;
      return true;
    }
    case Kind::kDict: {
      if (a.dict->size != b.dict->size) return false;
      if (a.dict == b.dict) return true;
      const DepthGuard guard(rt);
      for (const Dict::Entry& entry : a.dict->items()) {
        const Value* other = find(rt, *b.dict, entry.key);
        if (other == nullptr || !equals(rt, entry.value, *other)) return false;
      }
      return true;
    }
    case Kind::kRange:
      return same_range(*a.range, *b.range);
    case Kind::kView:
      return a.view->dict == b.view->dict && a.view->part == b.view->part;
    case Kind::kMethod:
      return a.method->name->view() == b.method->name->view() &&
             a.method->self.integer == b.method->self.integer;
    default:
      return a.integer == b.integer;  // the same object
  }
}

bool compare(Runtime& rt, Order order, const Value& a, const Value& b) {
  rt.tick();
  const auto decide = [order](int c) {
    switch (order) {
      case Order::kLess:
        return c < 0;
      case Order::kLessEqual:
        return c <= 0;
      case Order::kGreater:
        return c > 0;
      case Order::kGreaterEqual:
        return c >= 0;
    }
    return false;
  };
  if (a.is_number() && b.is_number()) {
    const int c = compare_numbers(a, b);
    return c != 2 && decide(c);
  }
  if (a.is_str() && b.is_str()) {
    rt.scanned(std::min(a.str->size, b.str->size));
    return decide(a.text().compare(b.text()));  // bytes of UTF-8 sort as code points do
  }
  if (a.is_sequence() && a.kind == b.kind) {
    const DepthGuard guard(rt);
    for (size_t i = 0; i < std::min(a.list->size, b.list->size); ++i)
      if (!equals(rt, a.list->data[i], b.list->data[i]))
        return compare(rt, order, a.list->data[i], b.list->data[i]);
    return decide(a.list->size < b.list->size ? -1 : (a.list->size > b.list->size ? 1 : 0));
  }
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  constexpr std::array<const char*, 4> kSpelling{"<", "<=", ">", ">="};
  fail_type(std::string("'") + kSpelling[static_cast<size_t>(order)] +
            "' is not supported between " + type_name(a) + " and " + type_name(b));
}

uint64_t hash_value(Runtime& rt, const Value& v) {
  rt.tick();
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return 11;
    case Kind::kNone:
      return 12;
    case Kind::kBool:
      return mix(v.boolean ? 1 : 0);
    case Kind::kInt:
      return mix(static_cast<uint64_t>(v.integer));
    case Kind::kBig:
      return std::hash<double>{}(to_big(v).to_double());
    case Kind::kFloat:
      if (std::fabs(v.real) < 9.0e18 && v.real == std::trunc(v.real))
        return mix(static_cast<uint64_t>(static_cast<int64_t>(v.real)));
      return std::hash<double>{}(v.real);
    case Kind::kStr:
      rt.scanned(v.str->size);
      return std::hash<std::string_view>{}(v.text());
    case Kind::kTuple: {
      const DepthGuard guard(rt);
      uint64_t h = 17 + v.list->size;
      for (const Value& item : v.list->items()) h = mix(h * 31 + hash_value(rt, item));
      return h;
    }
    case Kind::kList:
    case Kind::kDict:
    case Kind::kView:
      fail_type("a value of type " + type_name(v) + " cannot be a key");
    case Kind::kRange:
      return mix(static_cast<uint64_t>(v.range->size()));
    case Kind::kMethod:
      return std::hash<std::string_view>{}(v.method->name->view());
    default:
      return mix(static_cast<uint64_t>(v.integer));
  }
}

BigInt to_big(const Value& v) {
  if (v.is(Kind::kBool)) return BigInt(v.boolean ? 1 : 0);
  if (v.is(Kind::kInt)) return BigInt(v.integer);
  return BigInt::from_limbs(v.big->negative, {v.big->limbs, v.big->limbs + v.big->count});
}

double to_real(const Value& v) {
  switch (v.kind) {
    case Kind::kBool:
      return v.boolean ? 1.0 : 0.0;
    case Kind::kInt:
      return static_cast<double>(v.integer);
    case Kind::kFloat:
      return v.real;
    case Kind::kBig: {
      const double real = to_big(v).to_double();
      if (std::isinf(real)) fail("a whole number is too large to become a float");
      return real;
    }
    default:
      if (v.is_undefined()) fail_undefined(v);
      fail_type("expected a number, found " + type_name(v));
  }
}

int64_t index_of(const Value& v, const char* what) {
  if (v.is(Kind::kInt)) return v.integer;
  if (v.is(Kind::kBool)) return v.boolean ? 1 : 0;
  if (v.is_undefined()) fail_undefined(v);
  if (v.is(Kind::kBig)) fail(std::string(what) + " is too large");
  fail_type(std::string(what) + " must be a whole number, found " + type_name(v));
}

int64_t clamped_index(const Value& v, const char* what) {
  if (!v.is(Kind::kBig)) return index_of(v, what);
  return v.big->negative ? std::numeric_limits<int64_t>::min()
                         : std::numeric_limits<int64_t>::max();
}

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t e = text.find('e');
  int exponent = 0;
  const char* digits_of_exponent = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, end, exponent);
  std::string out;
  std::string digits;
  for (char c : text.substr(0, e)) {
    if (c == '-')
      out.push_back('-');
    else if (c != '.')
      digits.push_back(c);
  }
  if (exponent < -4 || exponent >= 16) {
    out.push_back(digits[0]);
    if (digits.size() > 1) out.append(".").append(digits, 1);
    out.append(exponent < 0 ? "e-" : "e+");
    const std::string power = std::to_string(std::abs(exponent));
    if (power.size() < 2) out.push_back('0');
    return out + power;
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

}  // namespace spindrift::jinja
