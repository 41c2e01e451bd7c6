#pragma once

#include <string>
#include <utility>

#include "core/result.h"

namespace spindrift::jinja {

// Every failure inside the interpreter travels as this one type: an evaluator is a deep tree walk
// and a check after each step would drown it. It never leaves Template::parse and Template::render,
// which turn it into an Error.
struct TemplateError {
  ErrorCode code = ErrorCode::kInvalid;
  std::string message;
  int line = 0;  // 1-based line in the template; 0 = the line being rendered when it was thrown
};

[[noreturn]] inline void fail(std::string message) {
  throw TemplateError{ErrorCode::kInvalid, std::move(message), 0};
}
[[noreturn]] inline void fail_at(int line, std::string message) {
  throw TemplateError{ErrorCode::kInvalid, std::move(message), line};
}
[[noreturn]] inline void fail_limit(std::string message) {
  throw TemplateError{ErrorCode::kInvalid, std::move(message), 0};
}
[[noreturn]] inline void fail_unsupported(int line, std::string message) {
  throw TemplateError{ErrorCode::kUnsupported, std::move(message), line};
}

}  // namespace spindrift::jinja
