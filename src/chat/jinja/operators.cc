// + - * / // % ** and the signs, with Python's rules.
#include <cmath>
#include <limits>

#include "chat/jinja/builtins.h"

namespace spindrift::jinja {
namespace {

constexpr const char* spelling(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSubtract:
      return "-";
    case Op::kMultiply:
      return "*";
    case Op::kDivide:
      return "/";
    case Op::kFloorDivide:
      return "//";
    case Op::kModulo:
      return "%";
    default:
      return "**";
  }
}

[[noreturn]] void unsupported(Op op, const Value& a, const Value& b) {
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
  fail_type(std::string("unsupported operand types for ") + spelling(op) + ": " + type_name(a) +
            " and " + type_name(b));
}

bool small(const Value& v) { return v.is(Kind::kInt) || v.is(Kind::kBool); }
int64_t small_value(const Value& v) { return v.is(Kind::kBool) ? (v.boolean ? 1 : 0) : v.integer; }

double float_modulo(double a, double b) {
  if (b == 0.0) fail("float modulo by zero");
  double rest = std::fmod(a, b);
  if (rest != 0.0 && (b < 0) != (rest < 0))
    rest += b;
  else if (rest == 0.0)
    rest = std::copysign(0.0, b);
  return rest;
}

double float_floor_divide(double a, double b) {
  if (b == 0.0) fail("float floor division by zero");
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0.0 && (b < 0) != (rest < 0)) quotient -= 1.0;
  if (quotient == 0.0) return std::copysign(0.0, a / b);
  double floored = std::floor(quotient);
  if (quotient - floored > 0.5) floored += 1.0;
  return floored;
}

Value float_operation(Op op, double a, double b) {
  switch (op) {
    case Op::kAdd:
      return Value::of(a + b);
    case Op::kSubtract:
      return Value::of(a - b);
    case Op::kMultiply:
      return Value::of(a * b);
    case Op::kDivide:
      if (b == 0.0) fail("float division by zero");
      return Value::of(a / b);
    case Op::kFloorDivide:
      return Value::of(float_floor_divide(a, b));
    case Op::kModulo:
      return Value::of(float_modulo(a, b));
    default: {
      if (a == 0.0 && b < 0) fail("0.0 cannot be raised to a negative power");
      if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
        fail("a negative number cannot be raised to a fractional power");
      const double result = std::pow(a, b);
      if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
        fail("the result of ** is too large");
      return Value::of(result);
    }
  }
}

Value whole_power(Runtime& rt, const Value& a, const Value& b) {
  const BigInt exponent = to_big(b);
  if (exponent.negative()) return float_operation(Op::kPower, to_real(a), to_real(b));
  const auto small_exponent = exponent.to_int64();
  const BigInt base = to_big(a);
  if (!small_exponent && base.bits() > 1) fail_limit("a number in the template grew too large");
  const uint64_t e =
      small_exponent ? static_cast<uint64_t>(*small_exponent) : 2 + (exponent.limbs()[0] & 1U);
  rt.tick(64);
  return rt.whole(BigInt::pow(base, e));
}

Value whole_operation(Runtime& rt, Op op, const Value& a, const Value& b) {
  if (small(a) && small(b)) {
    const int64_t x = small_value(a);
    const int64_t y = small_value(b);
    int64_t out = 0;
    switch (op) {
      case Op::kAdd:
        if (!__builtin_add_overflow(x, y, &out)) return Value::of(out);
        break;
      case Op::kSubtract:
        if (!__builtin_sub_overflow(x, y, &out)) return Value::of(out);
        break;
      case Op::kMultiply:
        if (!__builtin_mul_overflow(x, y, &out)) return Value::of(out);
        break;
      case Op::kDivide:
        if (y == 0) fail("division by zero");
        if (std::abs(x) <= (int64_t{1} << 53) && std::abs(y) <= (int64_t{1} << 53))
          return Value::of(static_cast<double>(x) / static_cast<double>(y));
        break;
      case Op::kFloorDivide:
      case Op::kModulo: {
        if (y == 0) fail("integer division or modulo by zero");
        if (y == -1) break;  // the one quotient that overflows
        int64_t quotient = x / y;
        int64_t rest = x % y;
        if (rest != 0 && (rest < 0) != (y < 0)) {
          --quotient;
          rest += y;
        }
        return Value::of(op == Op::kModulo ? rest : quotient);
      }
      default:
        break;
    }
  }
  if (op == Op::kPower) return whole_power(rt, a, b);
  const BigInt x = to_big(a);
  const BigInt y = to_big(b);
  rt.tick(static_cast<int64_t>(1 + x.limbs().size() * y.limbs().size()));
  switch (op) {
    case Op::kAdd:
      return rt.whole(x + y);
    case Op::kSubtract:
      return rt.whole(x - y);
    case Op::kMultiply:
      return rt.whole(x * y);
    default:
      break;
  }
  if (y.zero()) fail(op == Op::kDivide ? "division by zero" : "integer division or modulo by zero");
  rt.tick(static_cast<int64_t>(x.bits() / 4));
  if (op == Op::kDivide) {
    const double result = BigInt::true_divide(x, y);
    if (std::isinf(result)) fail("the result of / is too large for a float");
    return Value::of(result);
  }
  BigInt quotient;
  BigInt rest;
  BigInt::divmod(x, y, &quotient, &rest);
  return rt.whole(op == Op::kModulo ? rest : quotient);
}

Value repeat(Runtime& rt, const Value& sequence, const Value& times) {
  const int64_t wanted = std::max<int64_t>(0, index_of(times, "a repeat count"));
  const size_t size = sequence.is_str() ? sequence.str->size : sequence.list->size;
  const size_t limit = sequence.is_str() ? rt.limits().text : rt.limits().memory / sizeof(Value);
  if (size != 0 && static_cast<uint64_t>(wanted) > limit / size)
    fail_limit("a repeated value grew too large");
  const size_t count = size == 0 ? 0 : static_cast<size_t>(wanted);
  rt.scanned(count * size);
  if (sequence.is_str()) {
    std::string out;
    out.reserve(count * size);
    for (size_t i = 0; i < count; ++i) out.append(sequence.text());
    return rt.text(out, sequence.str->markup);
  }
  rt.tick(static_cast<int64_t>(count * size));
  std::vector<Value> items;
  items.reserve(count * size);
  for (size_t i = 0; i < count; ++i)
    items.insert(items.end(), sequence.list->data, sequence.list->data + size);
  return sequence.is(Kind::kTuple) ? rt.tuple(items) : rt.list(items);
}

Value add_text(Runtime& rt, const Str& a, const Str& b) {
  if (a.markup == b.markup) return Value::of(rt.concat(a, b, a.markup));
  // Text next to HTML is escaped.
  const Str* left = a.markup ? &a : rt.str(escape_html(a.view()));
  const Str* right = b.markup ? &b : rt.str(escape_html(b.view()));
  return Value::of(rt.concat(*left, *right, true));
}

}  // namespace

Value add(Runtime& rt, const Value& a, const Value& b) {
  if (a.is_str() && b.is_str()) return add_text(rt, *a.str, *b.str);
  if (a.is_sequence() && a.kind == b.kind) {
    rt.tick(static_cast<int64_t>((a.list->size + b.list->size) / 8));
    std::vector<Value> items(a.list->data, a.list->data + a.list->size);
    items.insert(items.end(), b.list->data, b.list->data + b.list->size);
    return a.is(Kind::kTuple) ? rt.tuple(items) : rt.list(items);
  }
  return arithmetic(rt, Op::kAdd, a, b);
}

Value arithmetic(Runtime& rt, Op op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.is_whole() && b.is_whole()) return whole_operation(rt, op, a, b);
    return float_operation(op, to_real(a), to_real(b));
  }
  if (op == Op::kMultiply) {
    if ((a.is_str() || a.is_sequence()) && b.is_whole()) return repeat(rt, a, b);
    if ((b.is_str() || b.is_sequence()) && a.is_whole()) return repeat(rt, b, a);
  }
  if (op == Op::kModulo && a.is_str()) return rt.text(format_percent(rt, *a.str, b), a.str->markup);
  unsupported(op, a, b);
}

Value negate(Runtime& rt, const Value& v) {
  if (v.is(Kind::kFloat)) return Value::of(-v.real);
  if (v.is_whole()) return rt.whole(-to_big(v));
  if (v.is_undefined()) fail_undefined(v);
  fail_type("bad operand type for unary -: " + type_name(v));
}

Value positive(Runtime&, const Value& v) {
  if (v.is(Kind::kBool)) return Value::of(int64_t{v.boolean});
  if (v.is_number()) return v;
  if (v.is_undefined()) fail_undefined(v);
  fail_type("bad operand type for unary +: " + type_name(v));
}

}  // namespace spindrift::jinja
