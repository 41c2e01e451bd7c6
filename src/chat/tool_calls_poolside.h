#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tool_calls.h"
#include "chat/tool_values.h"

namespace spindrift {

// Laguna's form ("poolside_v1"): <tool_call>NAME, an optional newline, then keys and values, then
// </tool_call>. String arguments stream piece by piece, others come when complete. A key given
// twice counts once, the first time; a call without a name is dropped; blank text around calls is
// no content. A body that is a JSON object is read as one call.
class PoolsideToolCalls final : public ToolCallParser {
 public:
  PoolsideToolCalls(ToolSchema schema, std::string id_prefix)
      : schema_(std::move(schema)), id_prefix_(std::move(id_prefix)) {}
  std::vector<ToolEvent> push(std::string_view text) override;
  std::vector<ToolEvent> finish() override;

 private:
  enum class State : uint8_t {
    kText,
    kName,
    kJson,
    kDropped,
    kBetween,
    kKey,
    kBeforeValue,
    kString,
    kValue
  };
  // Each consumes what it can of held_ and returns whether to go on; `end`: nothing will follow.
  bool step(bool end);
  bool text(bool end);
  bool name(bool end);
  bool json(bool end);
  bool dropped();
  bool between();
  bool key();
  bool before_value();
  bool string_value(bool end);
  bool value(bool end);

  void begin_call(std::string name);
  void begin_argument();
  void end_call();
  void emit(ToolEvent::Kind kind, std::string text);
  void arguments(std::string text);
  void consume(size_t bytes) { held_.erase(0, bytes); }

  ToolSchema schema_;
  std::string id_prefix_;
  State state_ = State::kText;
  std::string held_;
  std::vector<ToolEvent> events_;
  bool fresh_ =
      true;        // since the start or a call, only blanks: they are content only if text follows
  int calls_ = 0;  // begun so far; the open one is calls_ - 1
  std::string function_;  // of the open call
  std::string key_;
  std::set<std::string> keys_;  // of the open call
  bool skip_ = false;           // the key was there before: its value goes nowhere
};

}  // namespace spindrift
