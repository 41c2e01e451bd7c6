// Attributes, items and slices, with the sandbox's rules.
#include <algorithm>
#include <limits>

#include "chat/jinja/builtins.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

bool dunder(std::string_view name) {
  return name.size() > 4 && name.substr(0, 2) == "__" && name.substr(name.size() - 2) == "__";
}

// Methods that would change a list or dict: the sandbox hides them.
bool mutates(const Value& object, std::string_view name) {
  static constexpr std::string_view kList[] = {"append", "clear", "pop",    "reverse",
                                               "insert", "sort",  "extend", "remove"};
  static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
  const auto in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
  };
  return (object.is(Kind::kList) && in(kList)) || (object.is(Kind::kDict) && in(kDict));
}

Value whole(int64_t i) { return Value::of(i); }

Value loop_attribute(Runtime& rt, Loop& loop, std::string_view name) {
  const auto peek = [&] {
    if (loop.after.is(Kind::kMissing) && !loop.items->next(rt, &loop.after)) loop.after = Value();
    return loop.after;
  };
  if (name == "index") return whole(loop.index0 + 1);
  if (name == "index0") return whole(loop.index0);
  if (name == "first") return Value::of(loop.index0 == 0);
  if (name == "last") return Value::of(peek().is(Kind::kMissing));
  if (name == "length") return whole(loop_length(rt, loop));
  if (name == "revindex") return whole(loop_length(rt, loop) - loop.index0);
  if (name == "revindex0") return whole(loop_length(rt, loop) - loop.index0 - 1);
  if (name == "depth") return whole(loop.depth0 + 1);
  if (name == "depth0") return whole(loop.depth0);
  if (name == "previtem")
    return loop.index0 == 0 ? rt.undefined("there is no previous item") : loop.before;
  if (name == "nextitem") {
    const Value next = peek();
    return next.is(Kind::kMissing) ? rt.undefined("there is no next item") : next;
  }
  return Value();
}

Value macro_attribute(Runtime& rt, const Macro& macro, std::string_view name) {
  const Stmt& s = *macro.node;
  if (name == "name") return macro.name == nullptr ? Value::none() : Value::of(macro.name);
  if (name == "caller") return Value::of(s.caller_ref.slot >= 0);
  if (name == "catch_kwargs") return Value::of(s.kwargs_ref.slot >= 0);
  if (name == "catch_varargs") return Value::of(s.varargs_ref.slot >= 0);
  if (name == "explicit_caller") return Value::of(s.explicit_caller);
  if (name != "arguments") return Value();
  std::vector<Value> names;
  for (const Parameter& p : s.parameters) names.push_back(Value::of(p.name));
  return rt.tuple(names);
}

Value number_attribute(const Value& v, std::string_view name) {
  const bool real = v.is(Kind::kFloat);
  if (name == "real") return v.is(Kind::kBool) ? whole(v.boolean ? 1 : 0) : v;
  if (name == "imag") return real ? Value::of(0.0) : whole(0);
  if (!real && name == "numerator") return v.is(Kind::kBool) ? whole(v.boolean ? 1 : 0) : v;
  if (!real && name == "denominator") return whole(1);
  return Value();
}

// The attribute of a Python object of that type, or kMissing.
Value own_attribute(Runtime& rt, const Value& object, const Str* name) {
  const std::string_view n = name->view();
  switch (object.kind) {
    case Kind::kNamespace: {
      const Value* v = find(*object.ns, n);
      return v == nullptr ? Value() : *v;
    }
    case Kind::kLoop:
      if (const Value v = loop_attribute(rt, *object.loop, n); !v.is(Kind::kMissing)) return v;
      break;
    case Kind::kMacro:
      return macro_attribute(rt, *object.macro, n);
    case Kind::kTuple:
      if (object.list->group && (n == "grouper" || n == "list"))
        return object.list->data[n == "list" ? 1 : 0];
      break;
    case Kind::kRange:
      if (n == "start") return whole(object.range->start);
      if (n == "stop") return whole(object.range->stop);
      if (n == "step") return whole(object.range->step);
      break;
    case Kind::kCycler:
      if (n == "current") return object.cycler->items->data[object.cycler->position];
      if (n == "pos") return whole(static_cast<int64_t>(object.cycler->position));
      if (n == "items") {
        Value v = Value::of(Kind::kTuple);
        v.list = object.cycler->items;
        return v;
      }
      break;
    case Kind::kJoiner:
      if (n == "sep") return Value::of(object.joiner->separator);
      if (n == "used") return Value::of(object.joiner->used);
      break;
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBig:
    case Kind::kFloat:
      if (const Value v = number_attribute(object, n); !v.is(Kind::kMissing)) return v;
      break;
    default:
      break;
  }
  if (!has_method(object, n)) return Value();
  Value v = Value::of(Kind::kMethod);
  v.method = rt.arena().make<Method>(object, name);
  return v;
}

Value missing_attribute(Runtime& rt, const Value& object, std::string_view name) {
  const std::string type = object.is_none() ? "None" : type_name(object) + " object";
  return rt.undefined("'" + type + "' has no attribute '" + std::string(name) + "'");
}

Value hidden_attribute(Runtime& rt, const Value& object, std::string_view name) {
  return rt.undefined("access to attribute '" + std::string(name) + "' of '" + type_name(object) +
                          "' object is unsafe",
                      true);
}

// object[key], or kMissing.
Value own_item(Runtime& rt, const Value& object, const Value& key) {
  switch (object.kind) {
    case Kind::kDict: {
      if (key.is(Kind::kList) || key.is(Kind::kDict) || key.is(Kind::kView)) return Value();
      const Value* v = find(rt, *object.dict, key);
      return v == nullptr ? Value() : *v;
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kStr:
    case Kind::kRange: {
      if (!key.is(Kind::kInt) && !key.is(Kind::kBool)) return Value();
      int64_t at = key.is(Kind::kBool) ? (key.boolean ? 1 : 0) : key.integer;
      const int64_t size = length_of(object);
      if (at < 0) at += size;
      if (at < 0 || at >= size) return Value();
      if (object.is_sequence()) return object.list->data[at];
      if (object.is(Kind::kRange)) return whole(object.range->start + at * object.range->step);
      const std::string_view text = object.text();
      if (object.str->ascii())
        return rt.text(text.substr(static_cast<size_t>(at), 1), object.str->markup);
      rt.scanned(text.size());
      const size_t begin = byte_offset(text, static_cast<size_t>(at));
      size_t end = begin;
      next_code_point(text, &end);
      return rt.text(text.substr(begin, end - begin), object.str->markup);
    }
    default:
      return Value();
  }
}

// Python's slice.indices: the first index, the step and how many items there are.
struct SliceSpan {
  int64_t start, step, count;
};

SliceSpan resolve_slice(int64_t size, const Value& start, const Value& stop,
                        const Value& step_value) {
  const int64_t step = step_value.is_none() ? 1 : clamped_index(step_value, "a slice step");
  if (step == 0) fail("a slice step cannot be zero");
  const auto bound = [&](const Value& v, int64_t fallback) {
    if (v.is_none()) return fallback;
    int64_t at = clamped_index(v, "a slice bound");
    if (at < 0)
      at = at < -size ? (step < 0 ? -1 : 0) : at + size;
    else if (at >= size)
      at = step < 0 ? size - 1 : size;
    return at;
  };
  const int64_t first = bound(start, step < 0 ? size - 1 : 0);
  const int64_t last = bound(stop, step < 0 ? -1 : size);
  int64_t count = 0;
  if (step > 0 && first < last) count = (last - first - 1) / step + 1;
  if (step < 0 && last < first) {
    const int64_t back =
        step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -step;
    count = (first - last - 1) / back + 1;
  }
  return {first, step, count};
}

Value text_slice(Runtime& rt, const Str& text, const SliceSpan& span) {
  const std::string_view view = text.view();
  if (span.count == 0) return rt.text("", text.markup);
  if (span.step == 1) {
    rt.scanned(text.ascii() ? 0 : text.size);
    const auto first = static_cast<size_t>(span.start);
    const auto count = static_cast<size_t>(span.count);
    const size_t begin = text.ascii() ? first : byte_offset(view, first);
    const size_t size = text.ascii() ? count : byte_offset(view.substr(begin), count);
    return Value::of(rt.borrow(view.substr(begin, size), text.markup));
  }
  std::vector<std::string_view> points;
  rt.tick(static_cast<int64_t>(text.length));
  for (size_t at = 0; at < view.size();) {
    const size_t begin = at;
    next_code_point(view, &at);
    points.push_back(view.substr(begin, at - begin));
  }
  std::string out;
  for (int64_t i = 0; i < span.count; ++i)
    out.append(points[static_cast<size_t>(span.start + i * span.step)]);
  return rt.text(out, text.markup);
}

}  // namespace

Value get_attribute(Runtime& rt, const Value& object, const Str* name) {
  const std::string_view n = name->view();
  if (object.is_undefined()) {
    if (dunder(n)) return hidden_attribute(rt, object, n);
    fail_undefined(object);
  }
  if (!object.is(Kind::kNamespace) && (dunder(n) || mutates(object, n)))
    return hidden_attribute(rt, object, n);
  const Value own = own_attribute(rt, object, name);
  if (!own.is(Kind::kMissing)) return own;
  const Value item = own_item(rt, object, Value::of(name));
  return item.is(Kind::kMissing) ? missing_attribute(rt, object, n) : item;
}

Value get_item(Runtime& rt, const Value& object, const Value& key) {
  if (object.is_undefined()) fail_undefined(object);
  const Value item = own_item(rt, object, key);
  if (!item.is(Kind::kMissing)) return item;
  if (key.is_str()) {
    if (!object.is(Kind::kNamespace) && (dunder(key.text()) || mutates(object, key.text())))
      return hidden_attribute(rt, object, key.text());
    const Value own = own_attribute(rt, object, key.str);
    return own.is(Kind::kMissing) ? missing_attribute(rt, object, key.text()) : own;
  }
  return rt.undefined(type_name(object) + " object has no element " + to_repr(rt, key));
}

Value get_slice(Runtime& rt, const Value& object, const Value& start, const Value& stop,
                const Value& step) {
  if (object.is_undefined()) fail_undefined(object);
  if (!object.is_str() && !object.is_sequence() && !object.is(Kind::kRange))
    fail_type("a value of type " + type_name(object) + " cannot be sliced");
  const SliceSpan span = resolve_slice(length_of(object), start, stop, step);
  if (object.is_str()) return text_slice(rt, *object.str, span);
  if (object.is(Kind::kRange)) {
    const Range& r = *object.range;
    Value v = Value::of(Kind::kRange);
    const int64_t first = r.start + span.start * r.step;
    const int64_t step_size = span.count <= 1 ? r.step : r.step * span.step;
    v.range = rt.arena().make<Range>(first, first + span.count * step_size, step_size);
    return v;
  }
  rt.tick(span.count / 8);
  if (span.step == 1) {
    Value v = Value::of(object.kind);
    v.list = rt.arena().make<List>(object.list->data + span.start, static_cast<size_t>(span.count),
                                   false);
    return v;
  }
  std::vector<Value> items;
  for (int64_t i = 0; i < span.count; ++i)
    items.push_back(object.list->data[span.start + i * span.step]);
  return object.is(Kind::kTuple) ? rt.tuple(items) : rt.list(items);
}

}  // namespace spindrift::jinja
