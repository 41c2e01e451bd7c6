#pragma once

#include <string_view>

#include "chat/jinja/runtime.h"
#include "chat/jinja/value.h"

namespace spindrift::jinja {

// The messages of a request in the form templates expect; the one place where clients' liberties
// are evened out. Tool call `arguments` that are JSON text of an object become the object (empty
// text: an empty object). Unless `keep_parts`, a `content` list of {"type": "text", "text": ...}
// becomes its texts joined by newlines; any other part is an error. Everything else stays as it is,
// in its order. Throws TemplateError when `messages` is no list of objects with a role.
Value normalize_messages(Runtime& rt, const Value& messages, bool keep_parts);

// The tools of a request: a JSON list of objects.
Value read_tools(Runtime& rt, std::string_view json);

}  // namespace spindrift::jinja
