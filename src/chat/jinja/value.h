#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/jinja/arena.h"
#include "chat/jinja/bigint.h"

namespace spindrift::jinja {

class Runtime;
struct Value;

enum class Kind : uint8_t {
  kMissing,  // a variable slot nothing was stored in; never visible to a template
  kUndefined,
  kNone,
  kBool,
  kInt,
  kBig,  // a whole number outside int64
  kFloat,
  kStr,
  kList,
  kTuple,
  kDict,
  kView,  // dict.keys(), .values(), .items()
  kRange,
  kIter,  // a generator: consumed once
  kNamespace,
  kMacro,
  kMethod,    // a method bound to its object
  kFunction,  // a global function
  kLoop,
  kCycler,
  kJoiner,
};

// UTF-8 text. `length` counts code points. `markup` marks text that |safe or |escape declared to be
// HTML.
struct Str {
  const char* data;
  size_t size;
  size_t length;
  bool markup;
  std::string_view view() const { return {data, size}; }
  bool ascii() const { return size == length; }
};

// What a name without a value says when it is used. `unsafe`: the sandbox hides it.
struct UndefinedInfo {
  const Str* message;
  bool unsafe;
};

struct BigLimbs {
  const uint32_t* limbs;
  uint32_t count;
  bool negative;
};

struct List;
struct Dict;
struct View;
struct Range;
struct Iter;
struct Namespace;
struct Macro;
struct Method;
struct Function;
struct Loop;
struct Cycler;
struct Joiner;

// A Python value, two words, copied freely. Everything behind the pointers lives in an Arena.
struct Value {
  Kind kind = Kind::kMissing;
  union {
    bool boolean;
    int64_t integer;
    double real;
    const UndefinedInfo* undefined;
    const BigLimbs* big;
    const Str* str;
    const List* list;  // kList and kTuple
    const Dict* dict;
    const View* view;
    const Range* range;
    Iter* iter;
    Namespace* ns;
    const Macro* macro;
    const Method* method;
    const Function* function;
    Loop* loop;
    Cycler* cycler;
    Joiner* joiner;
  };

  Value() : integer(0) {}
  static Value none() { return of(Kind::kNone); }
  static Value of(Kind kind) {
    Value v;
    v.kind = kind;
    return v;
  }
  static Value of(bool b) {
    Value v = of(Kind::kBool);
    v.integer = 0;
    v.boolean = b;
    return v;
  }
  static Value of(int64_t i) {
    Value v = of(Kind::kInt);
    v.integer = i;
    return v;
  }
  static Value of(double d) {
    Value v = of(Kind::kFloat);
    v.real = d;
    return v;
  }
  static Value of(const Str* s) {
    Value v = of(Kind::kStr);
    v.str = s;
    return v;
  }
  static Value of(const Dict* d) {
    Value v = of(Kind::kDict);
    v.dict = d;
    return v;
  }

  bool is(Kind k) const { return kind == k; }
  bool is_str() const { return kind == Kind::kStr; }
  bool is_undefined() const { return kind == Kind::kUndefined; }
  bool is_none() const { return kind == Kind::kNone; }
  bool is_sequence() const { return kind == Kind::kList || kind == Kind::kTuple; }
  bool is_whole() const { return kind == Kind::kBool || kind == Kind::kInt || kind == Kind::kBig; }
  bool is_number() const { return is_whole() || kind == Kind::kFloat; }
  std::string_view text() const { return str->view(); }  // kStr only
};

struct List {
  const Value* data;
  size_t size;
  bool group;  // a (grouper, list) pair of |groupby, which also answers to these two names
  std::span<const Value> items() const { return {data, size}; }
};

// Insertion-ordered, keys unique by Python equality (1 == 1.0 == True). Built once by DictBuilder,
// then immutable.
struct Dict {
  struct Entry {
    Value key;
    Value value;
    uint64_t hash;
  };
  const Entry* entries;
  size_t size;
  const uint32_t* index;  // open addressing, `mask + 1` places, entry number + 1, 0 = free; null
                          // for small dicts
  size_t mask;
  std::span<const Entry> items() const { return {entries, size}; }
};

struct View {
  enum class Part : uint8_t { kKeys, kValues, kItems };
  const Dict* dict;
  Part part;
};

struct Range {
  int64_t start, stop, step;
  int64_t size() const {
    if (step > 0) return start < stop ? (stop - start - 1) / step + 1 : 0;
    return start > stop ? (start - stop - 1) / -step + 1 : 0;
  }
};

// A Python iterator. Made in an arena, so destructors never run.
struct Iter {
  // Stores the next item and returns true, or returns false at the end (and ever after).
  virtual bool next(Runtime& rt, Value* item) = 0;

 protected:
  ~Iter() = default;
};

struct Namespace {
  std::pair<const Str*, Value>* attrs;
  size_t size;
  size_t capacity;
};

struct Cycler {
  const List* items;
  size_t position;
};

struct Joiner {
  const Str* separator;
  bool used;
};

struct Stmt;
struct Frame;

// A {% macro %}, or the body of a {% call %} block (name null), with the variables it closes over.
struct Macro {
  const Str* name;
  const Stmt* node;
  Frame* closure;
};

struct Method {
  Value self;
  const Str* name;
};

// A global function; `call` gets the arguments as written.
struct Arguments;
struct Function {
  const char* name;
  Value (*call)(Runtime& rt, const Arguments& args);
};

// The `loop` variable.
struct Loop {
  Iter* items;
  Value iterable;  // what was looped over, for its length; kMissing once a length was counted
  int64_t index0;
  int64_t depth0;
  int64_t length;                // -1 = not known yet
  Value after, current, before;  // kMissing = none
  Value last_changed;            // the arguments of the last changed(), a tuple, or kMissing
  const Stmt* recursive;         // the recursive for statement, or null
  Frame* closure;
};
// Counts the items of a loop; one without a known length is read to its end.
int64_t loop_length(Runtime& rt, Loop& loop);

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<const Str*, Value>> named;
};

// Truth, type names and texts as Python has them.
bool truthy(Runtime& rt, const Value& v);
std::string type_name(const Value& v);
void append_str(Runtime& rt, const Value& v, std::string* out);   // str(v)
void append_repr(Runtime& rt, const Value& v, std::string* out);  // repr(v)
std::string to_str(Runtime& rt, const Value& v);
std::string to_repr(Runtime& rt, const Value& v);

bool equals(Runtime& rt, const Value& a, const Value& b);
enum class Order : uint8_t { kLess, kLessEqual, kGreater, kGreaterEqual };
bool compare(Runtime& rt, Order order, const Value& a,
             const Value& b);  // fails for kinds without an order
inline bool less(Runtime& rt, const Value& a, const Value& b) {
  return compare(rt, Order::kLess, a, b);
}
uint64_t hash_value(Runtime& rt, const Value& v);  // fails for unhashable values

BigInt to_big(const Value& v);   // kBool, kInt, kBig
double to_real(const Value& v);  // any number; fails when out of range
std::string float_repr(
    double value);  // the shortest text that reads back to the same bits, as repr(float)
int64_t index_of(const Value& v, const char* what);  // a whole number that fits, else fails
// |v| clamped to int64 instead of failing: for slice bounds and the like.
int64_t clamped_index(const Value& v, const char* what);

// Iteration.
Iter* iterate(Runtime& rt, const Value& v);  // fails unless iterable
bool iterable(const Value& v);
std::vector<Value> to_vector(Runtime& rt, const Value& v);
// len(v), or -1 when the type has none.
int64_t length_of(const Value& v);
bool contains(Runtime& rt, const Value& container, const Value& item);

const Value* find(Runtime& rt, const Dict& dict,
                  const Value& key);  // null when absent; fails for unhashable keys
const Value* find(const Dict& dict, std::string_view key);
Value* find(const Namespace& ns, std::string_view name);
void assign(Runtime& rt, Namespace& ns, const Str* name, const Value& v);

// Collects entries in insertion order; a repeated key keeps its place and takes the new value.
class DictBuilder {
 public:
  explicit DictBuilder(Runtime& rt) : rt_(rt) {}
  void set(const Value& key, const Value& value);
  void set(std::string_view key, const Value& value);
  bool contains(const Value& key);
  size_t size() const { return entries_.size(); }
  const Dict* build();

 private:
  size_t locate(const Value& key, uint64_t hash);
  void rehash();
  Runtime& rt_;
  std::vector<Dict::Entry> entries_;
  std::vector<uint32_t> index_;
};

}  // namespace spindrift::jinja
