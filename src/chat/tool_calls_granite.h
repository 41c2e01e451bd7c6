#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat/tool_calls.h"

namespace spindrift {

// Granite 3: after <|tool_call|> the rest of the answer is a JSON list of calls, read when it is
// complete. If it is none, it is text.
class GraniteToolCalls final : public ToolCallParser {
 public:
  explicit GraniteToolCalls(std::string id_prefix) : id_prefix_(std::move(id_prefix)) {}
  std::vector<ToolEvent> push(std::string_view text) override;
  std::vector<ToolEvent> finish() override;

 private:
  std::string id_prefix_;
  bool in_calls_ = false;
  bool shown_ = false;  // some text was given out
  std::string held_;    // content that may begin the tag or is blank, or what follows the tag
};

}  // namespace spindrift
