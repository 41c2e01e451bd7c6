// The tests behind `is`, and the tables of filters.
#include <algorithm>

#include "chat/jinja/filters.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

const Value& subject(const Arguments& args) { return args.positional[0]; }

template <bool (*Test)(const Value&)>
Value simple(Runtime&, const Arguments& args) {
  const Bound bound("the test", args, 1, {});
  return Value::of(Test(subject(args)));
}

bool is_defined(const Value& v) { return !v.is_undefined(); }
bool is_undefined(const Value& v) { return v.is_undefined(); }
bool is_none(const Value& v) { return v.is_none(); }
bool is_boolean(const Value& v) { return v.is(Kind::kBool); }
bool is_true(const Value& v) { return v.is(Kind::kBool) && v.boolean; }
bool is_false(const Value& v) { return v.is(Kind::kBool) && !v.boolean; }
bool is_integer(const Value& v) { return v.is(Kind::kInt) || v.is(Kind::kBig); }
bool is_float(const Value& v) { return v.is(Kind::kFloat); }
bool is_number(const Value& v) { return v.is_number(); }
bool is_string(const Value& v) { return v.is_str(); }
bool is_mapping(const Value& v) { return v.is(Kind::kDict); }
bool is_escaped(const Value& v) { return v.is_str() && v.str->markup; }
bool is_sequence(const Value& v) {
  return v.is_str() || v.is_sequence() || v.is(Kind::kDict) || v.is(Kind::kRange) ||
         v.is_undefined();
}
bool is_callable(const Value& v) {
  switch (v.kind) {
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kLoop:
    case Kind::kJoiner:
    case Kind::kUndefined:
      return true;
    default:
      return false;
  }
}

Value whole_test(Runtime& rt, const Value& v, const Value& modulus, int64_t rest) {
  return Value::of(equals(rt, arithmetic(rt, Op::kModulo, v, modulus), Value::of(rest)));
}
Value odd(Runtime& rt, const Arguments& args) {
  const Bound bound("odd", args, 1, {});
  return whole_test(rt, subject(args), Value::of(int64_t{2}), 1);
}
Value even(Runtime& rt, const Arguments& args) {
  const Bound bound("even", args, 1, {});
  return whole_test(rt, subject(args), Value::of(int64_t{2}), 0);
}
Value divisibleby(Runtime& rt, const Arguments& args) {
  const Bound bound("divisibleby", args, 1, {"num"});
  return whole_test(rt, subject(args), bound.require(0), 0);
}

Value cased(Runtime& rt, const Arguments& args, std::string_view method) {
  const Bound bound("the test", args, 1, {});
  return call_method(rt, Value::of(soft_text(rt, subject(args))), method, Arguments());
}
Value lower_test(Runtime& rt, const Arguments& args) { return cased(rt, args, "islower"); }
Value upper_test(Runtime& rt, const Arguments& args) { return cased(rt, args, "isupper"); }

Value filter_test(Runtime&, const Arguments& args) {
  const Bound bound("filter", args, 1, {});
  return Value::of(subject(args).is_str() && (find_filter(subject(args).text()) != nullptr ||
                                              !refused_filter(subject(args).text()).empty()));
}
Value test_test(Runtime&, const Arguments& args) {
  const Bound bound("test", args, 1, {});
  return Value::of(subject(args).is_str() && find_test(subject(args).text()) != nullptr);
}
Value iterable_test(Runtime&, const Arguments& args) {
  const Bound bound("iterable", args, 1, {});
  return Value::of(iterable(subject(args)));
}

Value equal(Runtime& rt, const Arguments& args) {
  const Bound bound("eq", args, 1, {"other"});
  return Value::of(equals(rt, subject(args), bound.require(0)));
}
Value unequal(Runtime& rt, const Arguments& args) {
  const Bound bound("ne", args, 1, {"other"});
  return Value::of(!equals(rt, subject(args), bound.require(0)));
}
template <Order order>
Value ordered(Runtime& rt, const Arguments& args) {
  const Bound bound("the comparison", args, 1, {"other"});
  return Value::of(compare(rt, order, subject(args), bound.require(0)));
}
Value in(Runtime& rt, const Arguments& args) {
  const Bound bound("in", args, 1, {"seq"});
  return Value::of(contains(rt, bound.require(0), subject(args)));
}

// `is` of Python: one object. Small whole numbers, equal constants and short texts are shared
// there.
Value sameas(Runtime&, const Arguments& args) {
  const Bound bound("sameas", args, 1, {"other"});
  const Value& a = subject(args);
  const Value& b = bound.require(0);
  if (a.kind != b.kind) return Value::of(false);
  switch (a.kind) {
    case Kind::kNone:
      return Value::of(true);
    case Kind::kBool:
      return Value::of(a.boolean == b.boolean);
    case Kind::kStr:
      return Value::of(a.text() == b.text());
    default:
      return Value::of(a.integer == b.integer);
  }
}

constexpr Builtin kTests[] = {
    {"defined", simple<is_defined>},
    {"undefined", simple<is_undefined>},
    {"none", simple<is_none>},
    {"boolean", simple<is_boolean>},
    {"true", simple<is_true>},
    {"false", simple<is_false>},
    {"integer", simple<is_integer>},
    {"float", simple<is_float>},
    {"number", simple<is_number>},
    {"string", simple<is_string>},
    {"mapping", simple<is_mapping>},
    {"sequence", simple<is_sequence>},
    {"escaped", simple<is_escaped>},
    {"callable", simple<is_callable>},
    {"iterable", iterable_test},
    {"odd", odd},
    {"even", even},
    {"divisibleby", divisibleby},
    {"lower", lower_test},
    {"upper", upper_test},
    {"filter", filter_test},
    {"test", test_test},
    {"sameas", sameas},
    {"in", in},
    {"eq", equal},
    {"==", equal},
    {"equalto", equal},
    {"ne", unequal},
    {"!=", unequal},
    {"lt", ordered<Order::kLess>},
    {"<", ordered<Order::kLess>},
    {"lessthan", ordered<Order::kLess>},
    {"le", ordered<Order::kLessEqual>},
    {"<=", ordered<Order::kLessEqual>},
    {"gt", ordered<Order::kGreater>},
    {">", ordered<Order::kGreater>},
    {"greaterthan", ordered<Order::kGreater>},
    {"ge", ordered<Order::kGreaterEqual>},
    {">=", ordered<Order::kGreaterEqual>},
};

struct Refused {
  std::string_view name;
  std::string_view why;
};
constexpr Refused kRefused[] = {
    {"random", "its result is random"},
    {"pprint", "it lays out text for Python programmers"},
    {"urlize", "it makes HTML links"},
    {"striptags", "it reads HTML"},
    {"wordwrap", "it lays out text for a fixed line width"},
};

const Builtin* find_in(std::span<const Builtin> table, std::string_view name) {
  for (const Builtin& b : table)
    if (b.name == name) return &b;
  return nullptr;
}

}  // namespace

const Builtin* find_filter(std::string_view name) {
  for (const auto table : {text_filters(), sequence_filters(), select_filters(), number_filters()})
    if (const Builtin* found = find_in(table, name)) return found;
  return nullptr;
}

const Builtin* find_test(std::string_view name) { return find_in(kTests, name); }

std::string_view refused_filter(std::string_view name) {
  for (const Refused& refused : kRefused)
    if (refused.name == name) return refused.why;
  return {};
}

}  // namespace spindrift::jinja
