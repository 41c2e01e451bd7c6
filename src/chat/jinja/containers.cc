// Iteration, dictionaries, namespaces and membership.
#include <algorithm>

#include "chat/jinja/runtime.h"
#include "chat/jinja/text.h"
#include "chat/jinja/value.h"

namespace spindrift::jinja {
namespace {

constexpr size_t kSmallDict = 8;  // entries found by looking at each

struct SequenceIter final : Iter {
  SequenceIter(const Value* first, const Value* last) : at(first), end(last) {}
  bool next(Runtime&, Value* item) override {
    if (at == end) return false;
    *item = *at++;
    return true;
  }
  const Value* at;
  const Value* end;
};

struct TextIter final : Iter {
  explicit TextIter(std::string_view t) : text(t) {}
  bool next(Runtime& rt, Value* item) override {
    if (at >= text.size()) return false;
    const size_t begin = at;
    next_code_point(text, &at);
    *item = rt.text(text.substr(begin, at - begin));
    return true;
  }
  std::string_view text;
  size_t at = 0;
};

struct ViewIter final : Iter {
  ViewIter(const Dict* d, View::Part p) : dict(d), part(p) {}
  bool next(Runtime& rt, Value* item) override {
    if (at >= dict->size) return false;
    const Dict::Entry& entry = dict->entries[at++];
    if (part == View::Part::kKeys)
      *item = entry.key;
    else if (part == View::Part::kValues)
      *item = entry.value;
    else
      *item = rt.tuple(std::array{entry.key, entry.value});
    return true;
  }
  const Dict* dict;
  View::Part part;
  size_t at = 0;
};

struct RangeIter final : Iter {
  explicit RangeIter(const Range& r) : range(r), left(r.size()) {}
  bool next(Runtime&, Value* item) override {
    if (left == 0) return false;
    *item = Value::of(range.start + (range.size() - left) * range.step);
    --left;
    return true;
  }
  Range range;
  int64_t left;
};

bool same_key(Runtime& rt, const Dict::Entry& entry, const Value& key, uint64_t hash) {
  return entry.hash == hash && equals(rt, entry.key, key);
}

}  // namespace

Iter* iterate(Runtime& rt, const Value& v) {
  Arena& arena = rt.arena();
  switch (v.kind) {
    case Kind::kList:
    case Kind::kTuple:
      return arena.make<SequenceIter>(v.list->data, v.list->data + v.list->size);
    case Kind::kUndefined:
      return arena.make<SequenceIter>(nullptr, nullptr);
    case Kind::kStr:
      return arena.make<TextIter>(v.text());
    case Kind::kDict:
      return arena.make<ViewIter>(v.dict, View::Part::kKeys);
    case Kind::kView:
      return arena.make<ViewIter>(v.view->dict, v.view->part);
    case Kind::kRange:
      return arena.make<RangeIter>(*v.range);
    case Kind::kIter:
      return v.iter;
    default:
      fail_type("a value of type " + type_name(v) + " cannot be iterated");
  }
}

bool iterable(const Value& v) {
  switch (v.kind) {
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kUndefined:
    case Kind::kStr:
    case Kind::kDict:
    case Kind::kView:
    case Kind::kRange:
    case Kind::kIter:
    case Kind::kLoop:
      return true;
    default:
      return false;
  }
}

std::vector<Value> to_vector(Runtime& rt, const Value& v) {
  if (v.is_sequence()) {
    rt.tick(static_cast<int64_t>(v.list->size / 8));
    return {v.list->data, v.list->data + v.list->size};
  }
  std::vector<Value> out;
  Iter* items = iterate(rt, v);
  for (Value item; items->next(rt, &item);) {
    rt.tick();
    out.push_back(item);
  }
  return out;
}

int64_t length_of(const Value& v) {
  switch (v.kind) {
    case Kind::kUndefined:
      return 0;
    case Kind::kStr:
      return static_cast<int64_t>(v.str->length);
    case Kind::kList:
    case Kind::kTuple:
      return static_cast<int64_t>(v.list->size);
    case Kind::kDict:
      return static_cast<int64_t>(v.dict->size);
    case Kind::kView:
      return static_cast<int64_t>(v.view->dict->size);
    case Kind::kRange:
      return v.range->size();
    default:
      return -1;
  }
}

bool contains(Runtime& rt, const Value& container, const Value& item) {
  if (container.is_str()) {
    if (!item.is_str()) {
      fail_type("'in <string>' requires a string as left operand, found " + type_name(item));
    }
    rt.scanned(container.str->size);
    return find_text(container.text(), item.text()) != std::string_view::npos;
  }
  if (container.is(Kind::kDict)) return find(rt, *container.dict, item) != nullptr;
  if (container.is(Kind::kView) && container.view->part == View::Part::kKeys)
    return find(rt, *container.view->dict, item) != nullptr;
  Iter* items = iterate(rt, container);
  for (Value other; items->next(rt, &other);)
    if (equals(rt, other, item)) return true;
  return false;
}

const Value* find(Runtime& rt, const Dict& dict, const Value& key) {
  const uint64_t hash = hash_value(rt, key);
  if (dict.index == nullptr) {
    for (const Dict::Entry& entry : dict.items())
      if (same_key(rt, entry, key, hash)) return &entry.value;
    return nullptr;
  }
  for (size_t at = hash & dict.mask; dict.index[at] != 0; at = (at + 1) & dict.mask) {
    rt.tick();
    const Dict::Entry& entry = dict.entries[dict.index[at] - 1];
    if (same_key(rt, entry, key, hash)) return &entry.value;
  }
  return nullptr;
}

const Value* find(const Dict& dict, std::string_view key) {
  const uint64_t hash = std::hash<std::string_view>{}(key);
  const auto matches = [&](const Dict::Entry& entry) {
    return entry.hash == hash && entry.key.is_str() && entry.key.text() == key;
  };
  if (dict.index == nullptr) {
    for (const Dict::Entry& entry : dict.items())
      if (matches(entry)) return &entry.value;
    return nullptr;
  }
  for (size_t at = hash & dict.mask; dict.index[at] != 0; at = (at + 1) & dict.mask)
    if (matches(dict.entries[dict.index[at] - 1])) return &dict.entries[dict.index[at] - 1].value;
  return nullptr;
}

Value* find(const Namespace& ns, std::string_view name) {
  for (size_t i = 0; i < ns.size; ++i)
    if (ns.attrs[i].first->view() == name) return &ns.attrs[i].second;
  return nullptr;
}

void assign(Runtime& rt, Namespace& ns, const Str* name, const Value& v) {
  rt.tick(1 + static_cast<int64_t>(ns.size / 8));
  if (Value* slot = find(ns, name->view())) {
    *slot = v;
    return;
  }
  if (ns.size == ns.capacity) {
    const size_t capacity = std::max<size_t>(4, 2 * ns.capacity);
    auto* grown = static_cast<std::pair<const Str*, Value>*>(
        rt.arena().allocate(capacity * sizeof(std::pair<const Str*, Value>)));
    for (size_t i = 0; i < ns.size; ++i) new (grown + i) std::pair<const Str*, Value>(ns.attrs[i]);
    ns.attrs = grown;
    ns.capacity = capacity;
  }
  new (ns.attrs + ns.size++) std::pair<const Str*, Value>(name, v);
}

size_t DictBuilder::locate(const Value& key, uint64_t hash) {
  if (index_.empty()) {
    for (size_t i = 0; i < entries_.size(); ++i)
      if (same_key(rt_, entries_[i], key, hash)) return i;
    return entries_.size();
  }
  const size_t mask = index_.size() - 1;
  for (size_t at = hash & mask; index_[at] != 0; at = (at + 1) & mask) {
    rt_.tick();
    if (same_key(rt_, entries_[index_[at] - 1], key, hash)) return index_[at] - 1;
  }
  return entries_.size();
}

void DictBuilder::rehash() {
  size_t places = 32;
  while (places < 3 * entries_.size()) places *= 2;
  rt_.tick(static_cast<int64_t>(places / 8));
  index_.assign(places, 0U);
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t at = entries_[i].hash & (places - 1);
    while (index_[at] != 0) at = (at + 1) & (places - 1);
    index_[at] = static_cast<uint32_t>(i + 1);
  }
}

void DictBuilder::set(const Value& key, const Value& value) {
  const uint64_t hash = hash_value(rt_, key);
  const size_t at = locate(key, hash);
  if (at < entries_.size()) {
    entries_[at].value = value;
    return;
  }
  entries_.push_back({key, value, hash});
  if (index_.empty() ? entries_.size() > kSmallDict : entries_.size() > index_.size() / 2) {
    rehash();
  } else if (!index_.empty()) {
    const size_t mask = index_.size() - 1;
    size_t place = hash & mask;
    while (index_[place] != 0) place = (place + 1) & mask;
    index_[place] = static_cast<uint32_t>(entries_.size());
  }
}

void DictBuilder::set(std::string_view key, const Value& value) { set(rt_.text(key), value); }

bool DictBuilder::contains(const Value& key) {
  return locate(key, hash_value(rt_, key)) < entries_.size();
}

const Dict* DictBuilder::build() {
  auto* entries = rt_.arena().array<Dict::Entry>(entries_.size());
  std::copy(entries_.begin(), entries_.end(), entries);
  uint32_t* index = nullptr;
  if (!index_.empty()) {
    index = rt_.arena().array<uint32_t>(index_.size());
    std::copy(index_.begin(), index_.end(), index);
  }
  return rt_.arena().make<Dict>(entries, entries_.size(), index,
                                index_.empty() ? 0 : index_.size() - 1);
}

}  // namespace spindrift::jinja
