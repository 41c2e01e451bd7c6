#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace spindrift {

// What the tools of a request say about an argument: how its text becomes JSON.
enum class ArgumentType : uint8_t {
  kUnknown,         // not in the schema: JSON if it is JSON, else a string
  kString,          // verbatim
  kNullableString,  // verbatim, but null is null
  kOther,           // JSON, else a Python literal, else a string
};

class ToolSchema {
 public:
  // tools: OpenAI's list of {"type": "function", "function": {"name", "parameters": {"properties":
  // ...}}}, or of the inner objects; empty text = no tools. Errors: kUsage.
  static Result<ToolSchema> parse(std::string_view tools);
  ArgumentType type(std::string_view function, std::string_view argument) const;

 private:
  std::map<std::string, std::map<std::string, ArgumentType, std::less<>>, std::less<>> functions_;
};

// The JSON text of an argument written as `text`.
std::string argument_json(ArgumentType type, std::string_view text);

// A JSON string literal without its quotes; text must be valid UTF-8 or is cut at what is not.
std::string json_escaped(std::string_view text);
std::string json_quoted(std::string_view text);

// One call written as JSON: {"name": ..., "arguments": {...} or JSON text}, also "parameters".
struct JsonCall {
  std::string name;
  std::string arguments;  // JSON text of an object
};
// One such object or a list of them; nullopt when the text is anything else.
std::optional<std::vector<JsonCall>> json_calls(std::string_view text);

}  // namespace spindrift
