#include "chat/reasoning_split.h"

#include "chat/tag_scanner.h"

namespace spindrift {
namespace {

constexpr std::string_view kOpenTag = "<think>";
constexpr std::string_view kCloseTag = "</think>";
constexpr std::string_view kToolTag = "<tool_call>";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr size_t kPromptTail =
    64;  // bytes of a prompt that can hold the generation prompt's own tag

}  // namespace

ReasoningState reasoning_state(std::span<const TokenId> prompt, const ReasoningIds& ids) {
  for (size_t i = prompt.size(); i-- > 0;) {
    if (prompt[i] == ids.open) return ReasoningState::kOpen;
    if (prompt[i] == ids.close) return ReasoningState::kClosed;
    if (prompt[i] == ids.assistant) break;
  }
  return ReasoningState::kUndecided;
}

ReasoningState reasoning_state(std::string_view prompt) {
  const std::string_view tail = prompt.substr(prompt.size() - std::min(prompt.size(), kPromptTail));
  // A closing tag contains no opening one, so the later of the two decides.
  const size_t open = tail.rfind(kOpenTag);
  const size_t close = tail.rfind(kCloseTag);
  const size_t last =
      open == std::string_view::npos || (close != std::string_view::npos && close > open) ? close
                                                                                          : open;
  if (last == std::string_view::npos) return ReasoningState::kUndecided;
  const size_t behind = last + (last == close ? kCloseTag.size() : kOpenTag.size());
  if (tail.find_first_not_of(kBlanks, behind) != std::string_view::npos)
    return ReasoningState::kUndecided;
  return last == close ? ReasoningState::kClosed : ReasoningState::kOpen;
}

ReasoningSplit::ReasoningSplit(ReasoningState prompt) : prompt_(prompt) {}

ReasoningSplit::Piece ReasoningSplit::push(std::string_view text) {
  Piece out;
  held_ += text;
  advance(false, &out);
  return out;
}

ReasoningSplit::Piece ReasoningSplit::finish() {
  Piece out;
  advance(true, &out);
  return out;
}

// Looks for a <think> that opens the text. Returns false while undecided.
bool ReasoningSplit::start(bool end) {
  const size_t begin = std::min(held_.find_first_not_of(kBlanks), held_.size());
  const std::string_view text = std::string_view(held_).substr(begin);
  const bool open = text.substr(0, kOpenTag.size()) == kOpenTag;
  if (!open && !end &&
      (text.empty() || (text.size() < kOpenTag.size() && kOpenTag.substr(0, text.size()) == text)))
    return false;
  if (open) held_.erase(0, begin + kOpenTag.size());
  mode_ = prompt_ == ReasoningState::kOpen || (prompt_ == ReasoningState::kUndecided && open)
              ? Mode::kReasoning
              : Mode::kContent;
  drop_close_ = open && mode_ == Mode::kContent;
  return true;
}

void ReasoningSplit::advance(bool end, Piece* out) {
  if (mode_ == Mode::kStart && !start(end)) return;
  if (mode_ == Mode::kReasoning) {
    const TagMatch found = find_tag(held_, {kCloseTag, kToolTag});
    if (found.at == std::string_view::npos) {
      const size_t keep = end ? 0 : partial_tag(held_, {kCloseTag, kToolTag});
      out->reasoning.append(held_, 0, held_.size() - keep);
      held_.erase(0, held_.size() - keep);
      return;
    }
    out->reasoning.append(held_, 0, found.at);
    held_.erase(0, found.at + (found.tag == kCloseTag ? kCloseTag.size() : 0));
    mode_ = Mode::kContent;
  }
  if (drop_close_) {
    const size_t at = held_.find(kCloseTag);
    if (at == std::string::npos) {
      const size_t keep = end ? 0 : partial_tag(held_, {kCloseTag});
      out->content.append(held_, 0, held_.size() - keep);
      held_.erase(0, held_.size() - keep);
      return;
    }
    held_.erase(at, kCloseTag.size());
    drop_close_ = false;
  }
  out->content += held_;
  held_.clear();
}

}  // namespace spindrift
