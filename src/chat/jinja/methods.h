#pragma once

#include <string_view>

#include "chat/jinja/builtins.h"

namespace spindrift::jinja {

// Fails unless there are only positional arguments, least..most of them.
void plain_arguments(const char* function, const Arguments& args, size_t least, size_t most);

// The method of str with that name, or null.
Value (*text_method(std::string_view name))(Runtime& rt, const Value& self, const Arguments& args);

}  // namespace spindrift::jinja
