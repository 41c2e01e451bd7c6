#include "chat/tool_calls_poolside.h"

#include "chat/tag_scanner.h"

namespace spindrift {
namespace {

constexpr std::string_view kCall = "<tool_call>";
constexpr std::string_view kCallEnd = "</tool_call>";
constexpr std::string_view kKey = "<arg_key>";
constexpr std::string_view kKeyEnd = "</arg_key>";
constexpr std::string_view kValue = "<arg_value>";
constexpr std::string_view kValueEnd = "</arg_value>";
constexpr std::string_view kBlanks = " \t\r\n";

std::string stripped(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin));
}

// Bytes at the end of a text that begin a code point and do not complete it: an escape must not cut
// through one.
size_t partial_code_point(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto c = static_cast<unsigned char>(text[text.size() - back]);
    if (c < 0x80) return 0;
    if (c >= 0xC0) return (c >= 0xF0 ? 4U : (c >= 0xE0 ? 3U : 2U)) > back ? back : 0;
  }
  return 0;
}

}  // namespace

std::vector<ToolEvent> PoolsideToolCalls::push(std::string_view text) {
  held_ += text;
  while (step(false)) {
  }
  return std::exchange(events_, {});
}

std::vector<ToolEvent> PoolsideToolCalls::finish() {
  while (step(true)) {
  }
  // The call that the end cut off.
  if (state_ != State::kText && state_ != State::kDropped) end_call();
  return std::exchange(events_, {});
}

bool PoolsideToolCalls::step(bool end) {
  switch (state_) {
    case State::kText:
      return text(end);
    case State::kName:
      return name(end);
    case State::kJson:
      return json(end);
    case State::kDropped:
      return dropped();
    case State::kBetween:
      return between();
    case State::kKey:
      return key();
    case State::kBeforeValue:
      return before_value();
    case State::kString:
      return string_value(end);
    case State::kValue:
      return value(end);
  }
  return false;
}

bool PoolsideToolCalls::text(bool end) {
  const size_t at = held_.find(kCall);
  if (at != std::string::npos) {
    const std::string before = held_.substr(0, at);
    consume(at + kCall.size());
    if (!fresh_ || before.find_first_not_of(kBlanks) != std::string::npos)
      emit(ToolEvent::Kind::kText, before);
    state_ = State::kName;
    return true;
  }
  const size_t safe = end ? held_.size() : held_.size() - partial_tag(held_, {kCall});
  const bool blank = held_.find_first_not_of(kBlanks) >= safe;
  if (fresh_ && blank && !(end && calls_ == 0)) return false;
  fresh_ = fresh_ && blank;
  emit(ToolEvent::Kind::kText, held_.substr(0, safe));
  consume(safe);
  return false;
}

bool PoolsideToolCalls::name(bool end) {
  const size_t begin = held_.find_first_not_of(kBlanks);
  if (begin == std::string::npos) {
    if (end) state_ = State::kDropped;
    return false;
  }
  if (held_[begin] == '{') {
    state_ = State::kJson;
    return true;
  }
  const size_t stop = held_.find_first_of("\n<", begin);
  if (stop == std::string::npos && !end) return false;
  const std::string found = stripped(std::string_view(held_).substr(begin, stop - begin));
  consume(std::min(stop, held_.size()));
  if (found.empty()) {
    state_ = State::kDropped;
    return true;
  }
  begin_call(found);
  return true;
}

bool PoolsideToolCalls::json(bool end) {
  const size_t at = held_.find(kCallEnd);
  if (at == std::string::npos && !end) return false;
  const std::string body = held_.substr(0, at);
  consume(at == std::string::npos ? held_.size() : at + kCallEnd.size());
  state_ = State::kText;
  fresh_ = true;
  const auto calls = json_calls(body);
  if (!calls) return true;  // neither a name nor an object: dropped like a call without a name
  for (const JsonCall& call : *calls) {
    begin_call(call.name);
    emit(ToolEvent::Kind::kArguments, call.arguments);
    emit(ToolEvent::Kind::kEnd, "");
  }
  state_ = State::kText;
  return true;
}

bool PoolsideToolCalls::dropped() {
  const size_t at = held_.find(kCallEnd);
  if (at == std::string::npos) {
    consume(held_.size() - partial_tag(held_, {kCallEnd}));
    return false;
  }
  consume(at + kCallEnd.size());
  state_ = State::kText;
  fresh_ = true;
  return true;
}

// Between arguments: the next key, the end of the call, or another call where the end was
// forgotten.
bool PoolsideToolCalls::between() {
  const TagMatch found = find_tag(held_, {kKey, kCallEnd, kCall});
  if (found.at == std::string_view::npos) {
    consume(held_.size() - partial_tag(held_, {kKey, kCallEnd, kCall}));
    return false;
  }
  consume(found.at + found.tag.size());
  if (found.tag == kKey) {
    state_ = State::kKey;
    return true;
  }
  end_call();
  if (found.tag == kCall) state_ = State::kName;
  return true;
}

bool PoolsideToolCalls::key() {
  const size_t at = held_.find(kKeyEnd);
  if (at == std::string::npos) return false;
  key_ = stripped(std::string_view(held_).substr(0, at));
  consume(at + kKeyEnd.size());
  state_ = State::kBeforeValue;
  return true;
}

bool PoolsideToolCalls::before_value() {
  const TagMatch found = find_tag(held_, {kValue, kKey, kCallEnd});
  if (found.at == std::string_view::npos) return false;
  if (found.tag != kValue) {  // a key without a value
    state_ = State::kBetween;
    return true;
  }
  consume(found.at + found.tag.size());
  begin_argument();
  return true;
}

bool PoolsideToolCalls::string_value(bool end) {
  const size_t at = held_.find(kValueEnd);
  size_t safe = at;
  if (at == std::string::npos) {
    safe = held_.size();
    if (!end) {
      safe -= partial_tag(held_, {kValueEnd});
      safe -= partial_code_point(std::string_view(held_).substr(0, safe));
    }
  }
  arguments(json_escaped(std::string_view(held_).substr(0, safe)));
  consume(at == std::string::npos ? safe : at + kValueEnd.size());
  if (at == std::string::npos && !end) return false;
  arguments("\"");
  state_ = State::kBetween;
  return at != std::string::npos;
}

bool PoolsideToolCalls::value(bool end) {
  const size_t at = held_.find(kValueEnd);
  if (at == std::string::npos && !end) return false;
  arguments(argument_json(schema_.type(function_, key_), std::string_view(held_).substr(0, at)));
  consume(at == std::string::npos ? held_.size() : at + kValueEnd.size());
  state_ = State::kBetween;
  return at != std::string::npos;
}

void PoolsideToolCalls::begin_call(std::string name) {
  function_ = std::move(name);
  keys_.clear();
  ++calls_;
  emit(ToolEvent::Kind::kBegin, function_);
  state_ = State::kBetween;
}

void PoolsideToolCalls::begin_argument() {
  skip_ = !keys_.insert(key_).second;
  const bool streams = schema_.type(function_, key_) == ArgumentType::kString;
  arguments((keys_.size() == 1 ? "{" : ", ") + json_quoted(key_) + ": " + (streams ? "\"" : ""));
  state_ = streams ? State::kString : State::kValue;
}

void PoolsideToolCalls::end_call() {
  emit(ToolEvent::Kind::kArguments, keys_.empty() ? "{}" : "}");
  emit(ToolEvent::Kind::kEnd, "");
  state_ = State::kText;
  fresh_ = true;
}

void PoolsideToolCalls::arguments(std::string text) {
  if (!skip_) emit(ToolEvent::Kind::kArguments, std::move(text));
}

void PoolsideToolCalls::emit(ToolEvent::Kind kind, std::string text) {
  if (text.empty() && (kind == ToolEvent::Kind::kText || kind == ToolEvent::Kind::kArguments))
    return;
  ToolEvent event{kind, kind == ToolEvent::Kind::kText ? 0 : calls_ - 1, std::move(text), ""};
  if (kind == ToolEvent::Kind::kBegin) event.id = id_prefix_ + std::to_string(event.index);
  events_.push_back(std::move(event));
}

}  // namespace spindrift
