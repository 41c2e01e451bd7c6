// Methods of lists, tuples, dicts, numbers, ranges, loops and cyclers; the methods of text are in
// methods_text.cc.
#include "chat/jinja/methods.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace spindrift::jinja {
namespace {

using Call = Value (*)(Runtime& rt, const Value& self, const Arguments& args);
struct Entry {
  std::string_view name;
  Call call;
};

template <size_t N>
Call lookup(const Entry (&table)[N], std::string_view name) {
  for (const Entry& entry : table)
    if (entry.name == name) return entry.call;
  return nullptr;
}

Value view(Runtime& rt, const Value& self, const Arguments& args, const char* name,
           View::Part part) {
  const Bound bound(name, args, 0, {});
  Value v = Value::of(Kind::kView);
  v.view = rt.arena().make<View>(self.dict, part);
  return v;
}

Value dict_get(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("get", args, 1, 2);
  const Value* v = find(rt, *self.dict, args.positional[0]);
  if (v != nullptr) return *v;
  return args.positional.size() > 1 ? args.positional[1] : Value::none();
}
Value dict_items(Runtime& rt, const Value& self, const Arguments& args) {
  return view(rt, self, args, "items", View::Part::kItems);
}
Value dict_keys(Runtime& rt, const Value& self, const Arguments& args) {
  return view(rt, self, args, "keys", View::Part::kKeys);
}
Value dict_values(Runtime& rt, const Value& self, const Arguments& args) {
  return view(rt, self, args, "values", View::Part::kValues);
}
Value itself(Runtime&, const Value& self, const Arguments& args) {
  plain_arguments("copy", args, 0, 0);
  return self;
}

Value sequence_count(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("count", args, 1, 1);
  int64_t count = 0;
  Iter* items = iterate(rt, self);
  for (Value item; items->next(rt, &item);) count += equals(rt, item, args.positional[0]) ? 1 : 0;
  return Value::of(count);
}

Value sequence_index(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("index", args, 1, 3);
  const int64_t size = length_of(self);
  const auto bound = [&](size_t i, int64_t fallback) {
    if (args.positional.size() <= i) return fallback;
    const int64_t at = clamped_index(args.positional[i], "a position");
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const int64_t first = bound(1, 0);
  const int64_t last = bound(2, size);
  const std::vector<Value> items = to_vector(rt, self);
  for (int64_t i = first; i < last; ++i)
    if (equals(rt, items[static_cast<size_t>(i)], args.positional[0])) return Value::of(i);
  fail("the value is not in the " + type_name(self));
}

Value bit_length(Runtime&, const Value& self, const Arguments& args) {
  plain_arguments("bit_length", args, 0, 0);
  return Value::of(static_cast<int64_t>(to_big(self).bits()));
}
Value conjugate(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("conjugate", args, 0, 0);
  return positive(rt, self);
}
Value float_is_integer(Runtime&, const Value& self, const Arguments& args) {
  plain_arguments("is_integer", args, 0, 0);
  return Value::of(std::isfinite(self.real) && self.real == std::floor(self.real));
}

Value loop_cycle(Runtime&, const Value& self, const Arguments& args) {
  plain_arguments("cycle", args, 0, std::numeric_limits<size_t>::max());
  if (args.positional.empty()) fail_type("no items for cycling given");
  return args.positional[static_cast<size_t>(self.loop->index0) % args.positional.size()];
}
Value loop_changed(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("changed", args, 0, std::numeric_limits<size_t>::max());
  const Value now = rt.tuple(args.positional);
  if (!self.loop->last_changed.is(Kind::kMissing) && equals(rt, self.loop->last_changed, now))
    return Value::of(false);
  self.loop->last_changed = now;
  return Value::of(true);
}

Value cycler_next(Runtime&, const Value& self, const Arguments& args) {
  plain_arguments("next", args, 0, 0);
  Cycler& cycler = *self.cycler;
  const Value v = cycler.items->data[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items->size;
  return v;
}
Value cycler_reset(Runtime&, const Value& self, const Arguments& args) {
  plain_arguments("reset", args, 0, 0);
  self.cycler->position = 0;
  return Value::none();
}

constexpr Entry kDict[] = {{"get", dict_get},
                           {"items", dict_items},
                           {"keys", dict_keys},
                           {"values", dict_values},
                           {"copy", itself}};
constexpr Entry kList[] = {{"count", sequence_count}, {"index", sequence_index}, {"copy", itself}};
constexpr Entry kTuple[] = {{"count", sequence_count}, {"index", sequence_index}};
constexpr Entry kWhole[] = {{"bit_length", bit_length}, {"conjugate", conjugate}};
constexpr Entry kFloat[] = {{"is_integer", float_is_integer}, {"conjugate", conjugate}};
constexpr Entry kLoop[] = {{"cycle", loop_cycle}, {"changed", loop_changed}};
constexpr Entry kCycler[] = {{"next", cycler_next}, {"reset", cycler_reset}};

Call method_of(const Value& object, std::string_view name) {
  switch (object.kind) {
    case Kind::kStr:
      return text_method(name);
    case Kind::kDict:
      return lookup(kDict, name);
    case Kind::kList:
      return lookup(kList, name);
    case Kind::kTuple:
    case Kind::kRange:
      return lookup(kTuple, name);
    case Kind::kBool:
    case Kind::kInt:
    case Kind::kBig:
      return lookup(kWhole, name);
    case Kind::kFloat:
      return lookup(kFloat, name);
    case Kind::kLoop:
      return lookup(kLoop, name);
    case Kind::kCycler:
      return lookup(kCycler, name);
    default:
      return nullptr;
  }
}

}  // namespace

void plain_arguments(const char* function, const Arguments& args, size_t least, size_t most) {
  if (!args.named.empty()) fail_type(std::string(function) + "() takes no keyword arguments");
  if (args.positional.size() < least || args.positional.size() > most)
    fail_type(std::string(function) + "() got " + std::to_string(args.positional.size()) +
              " arguments");
}

bool has_method(const Value& object, std::string_view name) {
  return method_of(object, name) != nullptr;
}

Value call_method(Runtime& rt, const Value& self, std::string_view name, const Arguments& args) {
  rt.tick();
  return method_of(self, name)(rt, self, args);
}

}  // namespace spindrift::jinja
