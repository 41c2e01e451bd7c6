#include "app/answer.h"

namespace spindrift {
struct AnswerStream::State {
  std::string content;
  std::optional<std::string> reasoning;
};
AnswerStream::AnswerStream(const Assembly&, std::string_view, std::string_view, bool) : state_(std::make_unique<State>()) {}
AnswerStream::~AnswerStream() = default;
std::vector<AnswerPiece> AnswerStream::push(std::string_view piece) {
  state_->content += piece;
  return {{AnswerPiece::Kind::kContent, std::string(piece)}};
}
std::vector<AnswerPiece> AnswerStream::finish() { return {}; }
const std::string& AnswerStream::content() const { return state_->content; }
const std::optional<std::string>& AnswerStream::reasoning() const { return state_->reasoning; }
std::string AnswerStream::tool_calls_json() const { return "[]"; }
}  // namespace spindrift
