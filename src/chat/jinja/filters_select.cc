// map, select, reject, selectattr, rejectattr, unique: generators that work as they are asked.
#include <algorithm>
#include <memory>

#include "chat/jinja/filters.h"

namespace spindrift::jinja {
namespace {

// The arguments that `map` or `select` hands on, kept in the arena.
struct Passed {
  const Value* positional;
  size_t positional_count;
  const std::pair<const Str*, Value>* named;
  size_t named_count;

  Arguments with(const Value& first) const {
    Arguments args;
    args.positional.push_back(first);
    args.positional.insert(args.positional.end(), positional, positional + positional_count);
    args.named.assign(named, named + named_count);
    return args;
  }
};

Passed keep(Runtime& rt, const Arguments& args, size_t skip) {
  const Value positional =
      rt.list(std::span(args.positional).subspan(std::min(skip, args.positional.size())));
  using Named = std::pair<const Str*, Value>;
  auto* named = static_cast<Named*>(rt.arena().allocate(args.named.size() * sizeof(Named)));
  std::uninitialized_copy(args.named.begin(), args.named.end(), named);
  return {positional.list->data, positional.list->size, named, args.named.size()};
}

const Value& subject(const Arguments& args) { return args.positional[0]; }

// Attribute steps in the arena.
struct Path {
  const Value* attribute;  // null = the item itself
  const Value* fallback;   // null = none
  Value of(Runtime& rt, const Value& item) const {
    return AttributePath(rt, attribute, fallback).of(rt, item);
  }
};

const Value* kept(Runtime& rt, const Value& v) { return rt.arena().make<Value>(v); }

struct MapAttribute final : Iter {
  MapAttribute(Iter* i, Path p) : items(i), path(p) {}
  bool next(Runtime& rt, Value* item) override {
    const DepthGuard guard(rt);
    if (!items->next(rt, item)) return false;
    *item = path.of(rt, *item);
    return true;
  }
  Iter* items;
  Path path;
};

struct MapFilter final : Iter {
  MapFilter(Iter* i, const Builtin* f, Passed p) : items(i), filter(f), passed(p) {}
  bool next(Runtime& rt, Value* item) override {
    const DepthGuard guard(rt);
    if (!items->next(rt, item)) return false;
    *item = filter->call(rt, passed.with(*item));
    return true;
  }
  Iter* items;
  const Builtin* filter;
  Passed passed;
};

struct Select final : Iter {
  Select(Iter* i, Path p, const Builtin* t, Passed a, bool w)
      : items(i), path(p), test(t), passed(a), wanted(w) {}
  bool next(Runtime& rt, Value* item) override {
    const DepthGuard guard(rt);
    while (items->next(rt, item)) {
      rt.tick();
      const Value v = path.attribute == nullptr ? *item : path.of(rt, *item);
      const Value result = test == nullptr ? v : test->call(rt, passed.with(v));
      if (truthy(rt, result) == wanted) return true;
    }
    return false;
  }
  Iter* items;
  Path path;
  const Builtin* test;  // null = truth itself
  Passed passed;
  bool wanted;
};

struct Seen {
  Value key;
  Seen* next;
};

struct Unique final : Iter {
  Unique(Iter* i, Path p, bool f) : items(i), path(p), fold(f) {}
  bool next(Runtime& rt, Value* item) override {
    const DepthGuard guard(rt);
    while (items->next(rt, item)) {
      rt.tick();
      Value key = path.attribute == nullptr ? *item : path.of(rt, *item);
      if (fold) key = ignore_case(rt, key);
      Seen*& bucket = buckets[hash_value(rt, key) % std::size(buckets)];
      bool found = false;
      for (const Seen* seen = bucket; seen != nullptr && !found; seen = seen->next)
        found = equals(rt, seen->key, key);
      if (found) continue;
      bucket = rt.arena().make<Seen>(key, bucket);
      return true;
    }
    return false;
  }
  Iter* items;
  Path path;
  bool fold;
  Seen* buckets[256] = {};
};

struct Nothing final : Iter {
  bool next(Runtime&, Value*) override { return false; }
};

const Builtin* named_builtin(const Value& name, bool filter) {
  if (name.is_undefined()) fail_undefined(name);
  const std::string label = name.is_str() ? std::string(name.text()) : type_name(name);
  const Builtin* found =
      !name.is_str() ? nullptr : (filter ? find_filter(label) : find_test(label));
  if (found == nullptr)
    fail(std::string(filter ? "no filter" : "no test") + " named '" + label + "'");
  return found;
}

Value map(Runtime& rt, const Arguments& args) {
  const Value& v = subject(args);
  if (!truthy(rt, v)) return Runtime::generator(rt.arena().make<Nothing>());
  Iter* items = iterate(rt, v);
  const bool by_attribute = args.positional.size() == 1 &&
                            std::any_of(args.named.begin(), args.named.end(), [](const auto& n) {
                              return n.first->view() == "attribute";
                            });
  if (by_attribute) {
    const Bound bound("map", args, 1, {"attribute", "default"});
    const Value* fallback =
        bound.get(1) != nullptr && !bound.get(1)->is_none() ? kept(rt, *bound.get(1)) : nullptr;
    const Path path{bound.get(0)->is_none() ? nullptr : kept(rt, *bound.get(0)), fallback};
    return Runtime::generator(rt.arena().make<MapAttribute>(items, path));
  }
  if (args.positional.size() < 2) fail("map needs the name of a filter");
  const Builtin* filter = named_builtin(args.positional[1], true);
  return Runtime::generator(rt.arena().make<MapFilter>(items, filter, keep(rt, args, 2)));
}

Value select_with(Runtime& rt, const Arguments& args, bool wanted, bool by_attribute) {
  const Value& v = subject(args);
  if (!truthy(rt, v)) return Runtime::generator(rt.arena().make<Nothing>());
  Iter* items = iterate(rt, v);
  size_t next = 1;
  Path path{nullptr, nullptr};
  if (by_attribute) {
    if (args.positional.size() < 2) fail("selectattr and rejectattr need the name of an attribute");
    if (!args.positional[next].is_none()) path.attribute = kept(rt, args.positional[next]);
    ++next;
  }
  const Builtin* test =
      args.positional.size() > next ? named_builtin(args.positional[next], false) : nullptr;
  return Runtime::generator(
      rt.arena().make<Select>(items, path, test, keep(rt, args, next + 1), wanted));
}

Value select(Runtime& rt, const Arguments& args) { return select_with(rt, args, true, false); }
Value reject(Runtime& rt, const Arguments& args) { return select_with(rt, args, false, false); }
Value selectattr(Runtime& rt, const Arguments& args) { return select_with(rt, args, true, true); }
Value rejectattr(Runtime& rt, const Arguments& args) { return select_with(rt, args, false, true); }

Value unique(Runtime& rt, const Arguments& args) {
  const Bound bound("unique", args, 1, {"case_sensitive", "attribute"});
  const Value* attribute =
      bound.get(1) != nullptr && !bound.get(1)->is_none() ? kept(rt, *bound.get(1)) : nullptr;
  return Runtime::generator(rt.arena().make<Unique>(
      iterate(rt, subject(args)), Path{attribute, nullptr}, !bound.flag(rt, 0, false)));
}

constexpr Builtin kFilters[] = {
    {"map", map},       {"select", select},         {"reject", reject},
    {"unique", unique}, {"selectattr", selectattr}, {"rejectattr", rejectattr},
};

}  // namespace

std::span<const Builtin> select_filters() { return kFilters; }

}  // namespace spindrift::jinja
