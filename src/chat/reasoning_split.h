#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/types.h"

namespace spindrift {

// Where a prompt leaves the model: inside reasoning (it ends in <think>), past it (</think>), or
// free to choose.
enum class ReasoningState : uint8_t { kOpen, kClosed, kUndecided };

// Ids of Laguna's tags.
struct ReasoningIds {
  TokenId open = 18;
  TokenId close = 19;
  TokenId assistant = 23;
};

// Reads a prompt backward up to the start of the assistant's turn.
ReasoningState reasoning_state(std::span<const TokenId> prompt, const ReasoningIds& ids = {});
// The same by the text of the tags, for templates whose tags are not single tokens: only tags in
// the last 64 bytes count, for earlier ones belong to earlier turns.
ReasoningState reasoning_state(std::string_view prompt);

// Splits generated text into reasoning and content as it arrives. Tags are dropped and never shown
// in part. Everything up to </think> is reasoning when the prompt left it open; a <tool_call> ends
// it too (and stays in the content). After a closed prompt all is content, and a <think> that the
// model writes first is dropped with its </think>. With an undecided prompt a text that starts with
// <think> starts with reasoning. Any division of the text into pushes gives the same result.
class ReasoningSplit {
 public:
  struct Piece {
    std::string reasoning;
    std::string content;
  };
  explicit ReasoningSplit(ReasoningState prompt);
  Piece push(std::string_view text);
  // What was held back. Call once, at the end.
  Piece finish();
  bool in_reasoning() const { return mode_ == Mode::kReasoning; }

 private:
  enum class Mode : uint8_t { kStart, kReasoning, kContent };
  // Consumes what can be decided from held_; `end`: nothing will follow.
  void advance(bool end, Piece* out);
  bool start(bool end);
  ReasoningState prompt_;
  Mode mode_ = Mode::kStart;
  bool drop_close_ = false;  // in content: the next </think> belongs to a dropped <think>
  std::string held_;
};

}  // namespace spindrift
