#pragma once

#include <span>

#include "chat/jinja/builtins.h"

namespace spindrift::jinja {

std::span<const Builtin> text_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> sequence_filters();
std::span<const Builtin> select_filters();

// str(v) as a Str: the text itself when it is one.
const Str* soft_text(Runtime& rt, const Value& v);

// Reads `attribute` of items as filters do: "a.b.0" walks attributes and indices, a number is an
// index.
class AttributePath {
 public:
  // fallback replaces an undefined step, null = none.
  AttributePath(Runtime& rt, const Value* attribute, const Value* fallback);
  Value of(Runtime& rt, const Value& item) const;

 private:
  std::vector<Value> steps_;
  const Value* fallback_;
};

// Lower case for text, anything else as it is.
Value ignore_case(Runtime& rt, const Value& v);

}  // namespace spindrift::jinja
