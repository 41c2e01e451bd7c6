#include "chat/tool_calls_granite.h"

#include "chat/tag_scanner.h"
#include "chat/tool_values.h"

namespace spindrift {
namespace {

constexpr std::string_view kTag = "<|tool_call|>";
constexpr std::string_view kBlanks = " \t\r\n";

void add_text(std::vector<ToolEvent>* events, std::string text) {
  if (!text.empty()) events->push_back({ToolEvent::Kind::kText, 0, std::move(text), ""});
}

}  // namespace

std::vector<ToolEvent> GraniteToolCalls::push(std::string_view text) {
  std::vector<ToolEvent> events;
  held_ += text;
  if (in_calls_) return events;
  const size_t at = held_.find(kTag);
  if (at != std::string::npos) {
    in_calls_ = true;
    // Blank text before a call is no content.
    std::string before = held_.substr(0, at);
    held_.erase(0, at + kTag.size());
    if (before.find_first_not_of(kBlanks) != std::string::npos || shown_)
      add_text(&events, std::move(before));
    return events;
  }
  const size_t safe = held_.size() - partial_tag(held_, {kTag});
  if (!shown_ && held_.find_first_not_of(kBlanks) >= safe) return events;
  shown_ = true;
  add_text(&events, held_.substr(0, safe));
  held_.erase(0, safe);
  return events;
}

std::vector<ToolEvent> GraniteToolCalls::finish() {
  std::vector<ToolEvent> events;
  const auto calls = in_calls_ ? json_calls(held_) : std::nullopt;
  if (!calls) {
    add_text(&events, (in_calls_ ? std::string(kTag) : std::string()) + held_);
    return events;
  }
  int index = 0;
  for (const JsonCall& call : *calls) {
    events.push_back(
        {ToolEvent::Kind::kBegin, index, call.name, id_prefix_ + std::to_string(index)});
    events.push_back({ToolEvent::Kind::kArguments, index, call.arguments, ""});
    events.push_back({ToolEvent::Kind::kEnd, index, "", ""});
    ++index;
  }
  return events;
}

}  // namespace spindrift
