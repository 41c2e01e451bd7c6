#pragma once

#include <string>
#include <string_view>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace spindrift::jinja {

inline constexpr int kMaxJsonDepth = 200;

// Reads one JSON text with Python's json.loads rules, which differ from a JSON library's where
// templates can see it: key order kept (a repeated key keeps its place and takes the last value),
// whole numbers of any size, other numbers as doubles (too large = infinity), NaN and Infinity
// accepted. `what` names the text in errors.
Value read_json(Runtime& rt, std::string_view text, const std::string& what);

struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool pretty = false;  // one item a line, with `indent` for each level
  std::string indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
// json.dumps; fails for values JSON cannot hold.
void write_json(Runtime& rt, const Value& v, const JsonStyle& style, std::string* out);
// Appends a JSON string literal.
void append_json_string(std::string_view text, bool ensure_ascii, std::string* out);

}  // namespace spindrift::jinja
