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

struct AnswerPiece {
  enum class Kind : uint8_t { kReasoning, kContent } kind = Kind::kContent;
  std::string text;
};

// Splits the text of an answer, as it is made, into reasoning, content and tool calls, by the tags
// that the model's chat template and vocabulary use. Tags themselves are no part of any.
class AnswerStream {
 public:
  // prompt: the rendered text the answer continues (it may end inside a reasoning block). tools:
  // the JSON array the prompt was rendered with, or empty. `split` off: everything is content.
  AnswerStream(const Assembly& assembly, std::string_view prompt, std::string_view tools,
               bool split);
  ~AnswerStream();
  AnswerStream(const AnswerStream&) = delete;
  AnswerStream& operator=(const AnswerStream&) = delete;

  // Text that is certain by now.
  std::vector<AnswerPiece> push(std::string_view piece);
  std::vector<AnswerPiece> finish();

  const std::string& content() const;
  const std::optional<std::string>& reasoning() const;  // nullopt = the model did not reason
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
