// Argument matching, calls and the HTML escape.
#include <algorithm>

#include "chat/jinja/builtins.h"

namespace spindrift::jinja {

Bound::Bound(const char* function, const Arguments& args, size_t skip,
             std::initializer_list<const char*> names)
    : function_(function) {
  std::copy(names.begin(), names.end(), names_.begin());
  const size_t given = args.positional.size() - skip;
  if (given > names.size())
    fail_type(std::string(function) + " takes at most " + std::to_string(names.size()) +
              " arguments, found " + std::to_string(given));
  for (size_t i = 0; i < given; ++i) values_.at(i) = &args.positional[skip + i];
  for (const auto& [name, value] : args.named) {
    const auto at = std::find_if(names.begin(), names.end(),
                                 [&, n = name](const char* p) { return n->view() == p; });
    if (at == names.end())
      fail_type(std::string(function) + " takes no argument '" + std::string(name->view()) + "'");
    const Value*& slot = values_.at(static_cast<size_t>(at - names.begin()));
    if (slot != nullptr)
      fail_type(std::string(function) + " got argument '" + std::string(name->view()) + "' twice");
    slot = &value;
  }
}

const Value& Bound::require(size_t parameter) const {
  if (values_[parameter] == nullptr)
    fail_type(std::string(function_) + " needs the argument '" + names_.at(parameter) + "'");
  return *values_[parameter];
}

bool Bound::flag(Runtime& rt, size_t parameter, bool fallback) const {
  return values_[parameter] == nullptr ? fallback : truthy(rt, *values_[parameter]);
}

int64_t Bound::whole(size_t parameter, int64_t fallback) const {
  return values_[parameter] == nullptr ? fallback
                                       : clamped_index(*values_[parameter], names_.at(parameter));
}

Value call_value(Runtime& rt, const Value& callee, const Arguments& args) {
  switch (callee.kind) {
    case Kind::kMacro:
      return rt.callee->call_macro(*callee.macro, args);
    case Kind::kMethod:
      return call_method(rt, callee.method->self, callee.method->name->view(), args);
    case Kind::kFunction:
      return callee.function->call(rt, args);
    case Kind::kLoop: {
      const Bound bound("loop()", args, 0, {"iterable"});
      return rt.callee->call_loop(*callee.loop, bound.require(0));
    }
    case Kind::kJoiner: {
      const Bound bound("joiner", args, 0, {});
      if (std::exchange(callee.joiner->used, true)) return Value::of(callee.joiner->separator);
      return rt.text("");
    }
    case Kind::kUndefined:
      fail_undefined(callee);
    default:
      fail_type("a value of type " + type_name(callee) + " cannot be called");
  }
}

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    switch (c) {
      case '&':
        out.append("&amp;");
        break;
      case '<':
        out.append("&lt;");
        break;
      case '>':
        out.append("&gt;");
        break;
      case '"':
        out.append("&#34;");
        break;
      case '\'':
        out.append("&#39;");
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace spindrift::jinja
