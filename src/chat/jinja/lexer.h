#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift::jinja {

enum class Tok : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  Tok type = Tok::kEnd;
  int line = 1;
  // Text of data, name or operator; the unescaped text of a string; a number without underscores.
  std::string text;
};

// Cuts a template into tokens the way jinja2 does with trim_blocks and lstrip_blocks on and
// keep_trailing_newline off: CRLF and CR become LF, one final newline goes, a newline right after a
// block or comment goes, blanks before a block or comment at the start of a line go, `-` strips all
// white space on its side and `+` keeps it. Comments and raw tags leave no token. Throws
// TemplateError with the line.
std::vector<Token> tokenize(std::string_view source);

// How a token is named in an error.
std::string describe(const Token& token);

}  // namespace spindrift::jinja
