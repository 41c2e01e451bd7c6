#pragma once

#include <memory>
#include <string_view>

#include "chat/jinja/ast.h"

namespace spindrift::jinja {

// Parses a template and works out where each variable lives. Throws TemplateError with the line.
std::unique_ptr<Program> parse(std::string_view source);

// Second half of parse(): the scoping rules of jinja2's compiler, applied to a parsed body.
void resolve(Program& program);

}  // namespace spindrift::jinja
