#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/assemble.h"
#include "engine/stop_rule.h"

namespace spindrift {

// What became known of an answer. A tool call is one kToolCall (text: the function's name) and any
// number of kToolArguments, whose texts joined are the JSON text of an object.
struct AnswerPiece {
  enum class Kind : uint8_t { kReasoning, kContent, kToolCall, kToolArguments };
  Kind kind = Kind::kContent;
  std::string text;
  int call = 0;         // of a tool call: its index, from 0
  std::string id = {};  // kToolCall: the call's id
};

struct AnswerOptions {
  std::string_view prompt;  // the rendered text the answer continues (it may end inside a reasoning
                            // block)
  std::string_view tools;   // the JSON array the prompt was rendered with, or empty
  bool split = true;        // off: everything is content
  bool tool_calls = true;   // off: what looks like a call is content
  std::string call_prefix = "call_";  // ids of calls are this and their index
};

// Splits the text of an answer, as it is made, into reasoning, content and tool calls, by the tags
// that the model's chat template and vocabulary use. Tags themselves are no part of any.
class AnswerStream {
 public:
  // The texts of the options are read here only.
  AnswerStream(const Assembly& assembly, const AnswerOptions& options);
  ~AnswerStream();
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;

  // Text that is certain by now.
  std::vector<AnswerPiece> push(std::string_view piece);
  std::vector<AnswerPiece> finish();

  const std::string& content() const;
  const std::optional<std::string>& reasoning() const;  // nullopt = the model did not reason
  int tool_calls() const;                               // how many
  // An array of OpenAI-shaped tool calls, "[]" when there are none.
  std::string tool_calls_json() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Turns ids into the text that an AnswerStream of the same `split` reads: special tokens have no
// text, but for tags that it splits by. The assembly must outlive it.
std::unique_ptr<TextDecoder> answer_decoder(const Assembly& assembly, bool split);

}  // namespace spindrift
