#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "chat/jinja/ast.h"
#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace spindrift::jinja {

// A filter (returns the new value) or a test (returns a bool). args.positional[0] is the value it
// is applied to.
struct Builtin {
  std::string_view name;
  Value (*call)(Runtime& rt, const Arguments& args);
};

const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Function* find_global(std::string_view name);
// A filter jinja2 has and this engine refuses, because its result cannot be reproduced; empty
// reason = not one of them.
std::string_view refused_filter(std::string_view name);

// Attribute and item access with the sandbox's rules: obj.name, obj[key]; undefined when absent.
Value get_attribute(Runtime& rt, const Value& object, const Str* name);
Value get_item(Runtime& rt, const Value& object, const Value& key);
Value get_slice(Runtime& rt, const Value& object, const Value& start, const Value& stop,
                const Value& step);
// Whether a method of that name may be called on the object (without making a bound method).
bool has_method(const Value& object, std::string_view name);
Value call_method(Runtime& rt, const Value& self, std::string_view name, const Arguments& args);

// Operators.
Value add(Runtime& rt, const Value& a, const Value& b);
Value arithmetic(Runtime& rt, Op op, const Value& a, const Value& b);
Value negate(Runtime& rt, const Value& v);
Value positive(Runtime& rt, const Value& v);

// "%d items" % args, and "{} items".format(args). A format that is HTML escapes what it takes in.
std::string format_percent(Runtime& rt, const Str& format, const Value& args);
std::string format_braces(Runtime& rt, const Str& format, const Arguments& args);
// format(value, spec) of the format mini-language.
std::string format_value(Runtime& rt, const Value& v, std::string_view spec);

std::string escape_html(std::string_view text);

// Calls whatever is callable.
Value call_value(Runtime& rt, const Value& callee, const Arguments& args);
// Calls of template macros and of recursive loops; implemented by the evaluator.
class Callee {
 public:
  virtual Value call_macro(const Macro& macro, const Arguments& args) = 0;
  virtual Value call_loop(Loop& loop, const Value& items) = 0;

 protected:
  ~Callee() = default;
};

// Matches arguments to parameter names, for one call of a builtin.
class Bound {
 public:
  // names: of the parameters that follow the first `skip` positional arguments. Fails on too many,
  // unknown or repeated.
  Bound(const char* function, const Arguments& args, size_t skip,
        std::initializer_list<const char*> names);
  const Value* get(size_t parameter) const { return values_[parameter]; }
  const Value& require(size_t parameter) const;
  bool flag(Runtime& rt, size_t parameter, bool fallback) const;
  int64_t whole(size_t parameter, int64_t fallback) const;

 private:
  const char* function_;
  std::array<const char*, 8> names_{};
  std::array<const Value*, 8> values_{};
};

}  // namespace spindrift::jinja
