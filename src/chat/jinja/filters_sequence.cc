// Filters on sequences and mappings.
#include <algorithm>

#include "chat/jinja/filters.h"
#include "chat/jinja/sort.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

const Value& subject(const Arguments& args) { return args.positional[0]; }

bool given(const Value* v) { return v != nullptr && !v->is_none(); }

Value default_filter(Runtime& rt, const Arguments& args) {
  const Bound bound("default", args, 1, {"default_value", "boolean"});
  const Value& v = subject(args);
  if (!v.is_undefined() && !(bound.flag(rt, 1, false) && !truthy(rt, v))) return v;
  return bound.get(0) == nullptr ? rt.text("") : *bound.get(0);
}

Value length(Runtime& rt, const Arguments& args) {
  const Bound bound("length", args, 1, {});
  const Value& v = subject(args);
  const int64_t size = v.is(Kind::kLoop) ? loop_length(rt, *v.loop) : length_of(v);
  if (size < 0) fail_type("a value of type " + type_name(v) + " has no length");
  return Value::of(size);
}

Value list(Runtime& rt, const Arguments& args) {
  const Bound bound("list", args, 1, {});
  return rt.list(to_vector(rt, subject(args)));
}

Value join(Runtime& rt, const Arguments& args) {
  const Bound bound("join", args, 1, {"d", "attribute"});
  const std::string separator = bound.get(0) == nullptr ? "" : to_str(rt, *bound.get(0));
  const Value* attribute = given(bound.get(1)) ? bound.get(1) : nullptr;
  const AttributePath path(rt, attribute, nullptr);
  std::string out;
  bool first = true;
  Iter* items = iterate(rt, subject(args));
  for (Value item; items->next(rt, &item);) {
    if (!first) out.append(separator);
    first = false;
    const size_t before = out.size();
    append_str(rt, path.of(rt, item), &out);
    rt.scanned(separator.size() + out.size() - before);
    if (out.size() > rt.limits().text) fail_limit("a text in the template grew too large");
  }
  return rt.text(out);
}

Value first(Runtime& rt, const Arguments& args) {
  const Bound bound("first", args, 1, {});
  Value item;
  return iterate(rt, subject(args))->next(rt, &item)
             ? item
             : rt.undefined("no first item, the sequence was empty");
}

bool reversible(const Value& v) {
  return iterable(v) && !v.is(Kind::kIter) && !v.is_undefined() && !v.is(Kind::kLoop);
}

Value last(Runtime& rt, const Arguments& args) {
  const Bound bound("last", args, 1, {});
  const Value& v = subject(args);
  // An undefined value has a length of 0 and items by number, which is all that reversed() asks
  // for.
  if (!reversible(v) && !v.is_undefined())
    fail_type("a value of type " + type_name(v) + " has no last item");
  if (v.is_str() || v.is_sequence() || v.is(Kind::kRange)) {
    if (length_of(v) > 0) return get_item(rt, v, Value::of(int64_t{-1}));
  } else if (!v.is_undefined()) {
    const std::vector<Value> items = to_vector(rt, v);
    if (!items.empty()) return items.back();
  }
  return rt.undefined("no last item, the sequence was empty");
}

struct ListIter final : Iter {
  explicit ListIter(const List* l) : list(l) {}
  bool next(Runtime&, Value* item) override {
    if (at == list->size) return false;
    *item = list->data[at++];
    return true;
  }
  const List* list;
  size_t at = 0;
};

Value generator_of(Runtime& rt, std::span<const Value> items) {
  return Runtime::generator(rt.arena().make<ListIter>(rt.list(items).list));
}

Value reverse(Runtime& rt, const Arguments& args) {
  const Bound bound("reverse", args, 1, {});
  const Value& v = subject(args);
  if (v.is_str()) return get_slice(rt, v, Value::none(), Value::none(), Value::of(int64_t{-1}));
  if (!iterable(v)) fail("reverse needs something that can be iterated");
  std::vector<Value> items = to_vector(rt, v);
  std::reverse(items.begin(), items.end());
  return reversible(v) || v.is_undefined() ? generator_of(rt, items) : rt.list(items);
}

// The key an item sorts or groups by, made once for each item.
struct Keyed {
  Value key;
  Value item;
};

std::vector<Keyed> keyed(Runtime& rt, const Value& v, const AttributePath& path, bool fold) {
  std::vector<Keyed> out;
  Iter* items = iterate(rt, v);
  for (Value item; items->next(rt, &item);) {
    rt.tick();
    const Value key = path.of(rt, item);
    out.push_back({fold ? ignore_case(rt, key) : key, item});
  }
  return out;
}

template <class T>
void sort_keyed(Runtime& rt, std::vector<T>* items, bool reverse_order) {
  if (reverse_order) std::reverse(items->begin(), items->end());
  stable_sort(items, [&](const T& a, const T& b) { return less(rt, a.key, b.key); });
  if (reverse_order) std::reverse(items->begin(), items->end());
}

std::vector<Value> items_of(const std::vector<Keyed>& keyed_items) {
  std::vector<Value> out;
  for (const Keyed& k : keyed_items) out.push_back(k.item);
  return out;
}

Value sort(Runtime& rt, const Arguments& args) {
  const Bound bound("sort", args, 1, {"reverse", "case_sensitive", "attribute"});
  const bool fold = !bound.flag(rt, 1, false);
  std::vector<AttributePath> paths;
  std::vector<Value> names;
  if (given(bound.get(2)) && bound.get(2)->is_str()) {
    for (std::string_view name : split(bound.get(2)->text(), ",", -1, false))
      names.push_back(rt.text(name));
    for (const Value& name : names) paths.emplace_back(rt, &name, nullptr);
  } else {
    paths.emplace_back(rt, given(bound.get(2)) ? bound.get(2) : nullptr, nullptr);
  }
  std::vector<Keyed> items;
  Iter* source = iterate(rt, subject(args));
  for (Value item; source->next(rt, &item);) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      const Value part = path.of(rt, item);
      key.push_back(fold ? ignore_case(rt, part) : part);
    }
    items.push_back({rt.list(key), item});
  }
  sort_keyed(rt, &items, bound.flag(rt, 0, false));
  return rt.list(items_of(items));
}

Value dictsort(Runtime& rt, const Arguments& args) {
  const Bound bound("dictsort", args, 1, {"case_sensitive", "by", "reverse"});
  const Value& v = subject(args);
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is(Kind::kDict)) fail_type("dictsort needs a mapping, found " + type_name(v));
  const bool fold = !bound.flag(rt, 0, false);
  const std::string by = bound.get(1) == nullptr ? "key" : to_str(rt, *bound.get(1));
  if (by != "key" && by != "value") fail("dictsort sorts by 'key' or 'value' only");
  std::vector<Keyed> items;
  for (const Dict::Entry& entry : v.dict->items()) {
    const Value& key = by == "key" ? entry.key : entry.value;
    items.push_back(
        {fold ? ignore_case(rt, key) : key, rt.tuple(std::array{entry.key, entry.value})});
  }
  sort_keyed(rt, &items, bound.flag(rt, 2, false));
  return rt.list(items_of(items));
}

Value groupby(Runtime& rt, const Arguments& args) {
  const Bound bound("groupby", args, 1, {"attribute", "default", "case_sensitive"});
  const bool fold = !bound.flag(rt, 2, false);
  const AttributePath path(rt, &bound.require(0), given(bound.get(1)) ? bound.get(1) : nullptr);
  std::vector<Keyed> items = keyed(rt, subject(args), path, fold);
  sort_keyed(rt, &items, false);
  std::vector<Value> groups;
  for (size_t begin = 0; begin < items.size();) {
    size_t end = begin + 1;
    while (end < items.size() && equals(rt, items[begin].key, items[end].key)) ++end;
    std::vector<Value> members;
    for (size_t i = begin; i < end; ++i) members.push_back(items[i].item);
    const Value grouper = fold ? path.of(rt, members[0]) : items[begin].key;
    Value group = rt.tuple(std::array{grouper, rt.list(members)});
    group.list = rt.arena().make<List>(group.list->data, size_t{2}, true);
    groups.push_back(group);
    begin = end;
  }
  return rt.list(groups);
}

Value extreme(Runtime& rt, const Arguments& args, const char* name, bool largest) {
  const Bound bound(name, args, 1, {"case_sensitive", "attribute"});
  const AttributePath path(rt, given(bound.get(1)) ? bound.get(1) : nullptr, nullptr);
  const std::vector<Keyed> items = keyed(rt, subject(args), path, !bound.flag(rt, 0, false));
  if (items.empty()) return rt.undefined("no aggregated item, the sequence was empty");
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i)
    if (compare(rt, largest ? Order::kGreater : Order::kLess, items[i].key, items[best].key))
      best = i;
  return items[best].item;
}
Value min_filter(Runtime& rt, const Arguments& args) { return extreme(rt, args, "min", false); }
Value max_filter(Runtime& rt, const Arguments& args) { return extreme(rt, args, "max", true); }

Value sum(Runtime& rt, const Arguments& args) {
  const Bound bound("sum", args, 1, {"attribute", "start"});
  const AttributePath path(rt, given(bound.get(0)) ? bound.get(0) : nullptr, nullptr);
  Value total = bound.get(1) == nullptr ? Value::of(int64_t{0}) : *bound.get(1);
  if (total.is_str()) fail_type("sum cannot add texts");
  Iter* items = iterate(rt, subject(args));
  for (Value item; items->next(rt, &item);) {
    rt.tick();
    total = add(rt, total, path.of(rt, item));
  }
  return total;
}

Value items(Runtime& rt, const Arguments& args) {
  const Bound bound("items", args, 1, {});
  const Value& v = subject(args);
  if (v.is_undefined()) return generator_of(rt, {});
  if (!v.is(Kind::kDict)) fail_type("items needs a mapping, found " + type_name(v));
  std::vector<Value> pairs;
  for (const Dict::Entry& entry : v.dict->items())
    pairs.push_back(rt.tuple(std::array{entry.key, entry.value}));
  return generator_of(rt, pairs);
}

Value batch(Runtime& rt, const Arguments& args) {
  const Bound bound("batch", args, 1, {"linecount", "fill_with"});
  const Value& wanted = bound.require(0);
  const int64_t size = clamped_index(wanted, "linecount");
  std::vector<Value> rows;
  std::vector<Value> row;
  for (const Value& item : to_vector(rt, subject(args))) {
    if (static_cast<int64_t>(row.size()) == size) {
      rows.push_back(rt.list(row));
      row.clear();
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    if (given(bound.get(1))) {
      while (static_cast<int64_t>(row.size()) < size) {
        rt.tick();
        row.push_back(*bound.get(1));
      }
    }
    rows.push_back(rt.list(row));
  }
  return generator_of(rt, rows);
}

Value slice(Runtime& rt, const Arguments& args) {
  const Bound bound("slice", args, 1, {"slices", "fill_with"});
  const int64_t slices = clamped_index(bound.require(0), "slices");
  const std::vector<Value> all = to_vector(rt, subject(args));
  if (slices == 0) fail("slice: integer division or modulo by zero");
  std::vector<Value> parts;
  const int64_t size = static_cast<int64_t>(all.size());
  size_t at = 0;
  for (int64_t i = 0; i < slices; ++i) {
    rt.tick();
    const int64_t count = size / slices + (i < size % slices ? 1 : 0);
    std::vector<Value> part(all.begin() + static_cast<std::ptrdiff_t>(at),
                            all.begin() + static_cast<std::ptrdiff_t>(at) + count);
    at += static_cast<size_t>(count);
    if (given(bound.get(1)) && i >= size % slices) part.push_back(*bound.get(1));
    parts.push_back(rt.list(part));
  }
  return generator_of(rt, parts);
}

Value attr(Runtime& rt, const Arguments& args) {
  const Bound bound("attr", args, 1, {"name"});
  const Value& name = bound.require(0);
  if (!name.is_str()) fail_type("attr needs a name, found " + type_name(name));
  const Value& v = subject(args);
  // An attribute only, never an item: a dict's methods, but not its keys.
  if (v.is(Kind::kDict) && !has_method(v, name.text()))
    return rt.undefined("'dict object' has no attribute '" + std::string(name.text()) + "'");
  return get_attribute(rt, v, name.str);
}

constexpr Builtin kFilters[] = {
    {"default", default_filter},
    {"d", default_filter},
    {"length", length},
    {"count", length},
    {"list", list},
    {"join", join},
    {"first", first},
    {"last", last},
    {"reverse", reverse},
    {"sort", sort},
    {"dictsort", dictsort},
    {"groupby", groupby},
    {"min", min_filter},
    {"max", max_filter},
    {"sum", sum},
    {"items", items},
    {"batch", batch},
    {"slice", slice},
    {"attr", attr},
};

}  // namespace

AttributePath::AttributePath(Runtime& rt, const Value* attribute, const Value* fallback)
    : fallback_(fallback) {
  if (attribute == nullptr) return;
  if (!attribute->is_str()) {
    steps_.push_back(*attribute);
    return;
  }
  for (std::string_view part : split(attribute->text(), ".", -1, false)) {
    bool number = !part.empty() && part.size() < 18;
    for (char c : part) number = number && c >= '0' && c <= '9';
    steps_.push_back(number ? Value::of(int64_t{std::stoll(std::string(part))}) : rt.text(part));
  }
}

Value AttributePath::of(Runtime& rt, const Value& item) const {
  Value v = item;
  for (const Value& step : steps_) {
    v = get_item(rt, v, step);
    if (fallback_ != nullptr && v.is_undefined()) v = *fallback_;
  }
  return v;
}

Value ignore_case(Runtime& rt, const Value& v) {
  if (!v.is_str()) return v;
  rt.scanned(8 * v.str->size);
  return rt.text(lower(v.text()), v.str->markup);
}

std::span<const Builtin> sequence_filters() { return kFilters; }

}  // namespace spindrift::jinja
