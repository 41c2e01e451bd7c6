#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace spindrift {

// How a model writes tool calls.
enum class ToolCallFormat : uint8_t {
  kNone,
  kPoolside,  // <tool_call>NAME<arg_key>k</arg_key><arg_value>v</arg_value>...</tool_call>
  kGranite,   // <|tool_call|>[{"name": ..., "arguments": {...}}, ...]
};

// What became known of the answer, in order. A call is kBegin, kArguments (any number), kEnd; the
// pieces of its arguments joined are the JSON text of an object.
struct ToolEvent {
  enum class Kind : uint8_t { kText, kBegin, kArguments, kEnd };
  Kind kind = Kind::kText;
  int index = 0;          // of the call, from 0
  std::string text = {};  // kText: content; kBegin: the function's name; kArguments: the next piece
  std::string id = {};    // kBegin: "call_0" ... with the prefix of the options
};

struct ToolCallOptions {
  ToolCallFormat format = ToolCallFormat::kPoolside;
  std::string tools = {};  // the request's tools, JSON: types of arguments; empty = none known
  std::string id_prefix = "call_";
};

// Reads tool calls out of generated content as it arrives. Any division of the text into pushes
// gives the same events, but for where text and arguments are cut. Malformed calls never fail: a
// Poolside call without a name is dropped, a Granite list that is no JSON stays text.
class ToolCallParser {
 public:
  // Errors: kUsage when options.tools is no JSON list.
  static Result<std::unique_ptr<ToolCallParser>> make(const ToolCallOptions& options);
  virtual ~ToolCallParser() = default;
  virtual std::vector<ToolEvent> push(std::string_view text) = 0;
  // Ends what is open: a call cut off in the middle is given as far as it came. Call once.
  virtual std::vector<ToolEvent> finish() = 0;
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text of an object
};

// {"id": ..., "type": "function", "function": {"name": ..., "arguments": "..."}}, as in OpenAI's
// API.
std::string tool_call_json(const ToolCall& call);

// Adds events up to a whole answer.
class ToolCallCollector {
 public:
  void add(const std::vector<ToolEvent>& events);
  const std::string& content() const { return content_; }
  const std::vector<ToolCall>& calls() const { return calls_; }

 private:
  std::string content_;
  std::vector<ToolCall> calls_;
};

}  // namespace spindrift
