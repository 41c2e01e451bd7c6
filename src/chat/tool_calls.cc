#include "chat/tool_calls.h"

#include "chat/tool_calls_granite.h"
#include "chat/tool_calls_poolside.h"
#include "chat/tool_values.h"

namespace spindrift {
namespace {

class PlainText final : public ToolCallParser {
 public:
  std::vector<ToolEvent> push(std::string_view text) override {
    if (text.empty()) return {};
    return {ToolEvent{ToolEvent::Kind::kText, 0, std::string(text), ""}};
  }
  std::vector<ToolEvent> finish() override { return {}; }
};

}  // namespace

Result<std::unique_ptr<ToolCallParser>> ToolCallParser::make(const ToolCallOptions& options) {
  std::unique_ptr<ToolCallParser> parser;
  switch (options.format) {
    case ToolCallFormat::kPoolside: {
      SPINDRIFT_TRY(ToolSchema schema, ToolSchema::parse(options.tools));
      parser = std::make_unique<PoolsideToolCalls>(std::move(schema), options.id_prefix);
      break;
    }
    case ToolCallFormat::kGranite:
      parser = std::make_unique<GraniteToolCalls>(options.id_prefix);
      break;
    case ToolCallFormat::kNone:
      parser = std::make_unique<PlainText>();
      break;
  }
  return parser;
}

std::string tool_call_json(const ToolCall& call) {
  return "{\"id\": " + json_quoted(call.id) +
         ", \"type\": \"function\", \"function\": {\"name\": " + json_quoted(call.name) +
         ", \"arguments\": " + json_quoted(call.arguments) + "}}";
}

void ToolCallCollector::add(const std::vector<ToolEvent>& events) {
  for (const ToolEvent& event : events) {
    switch (event.kind) {
      case ToolEvent::Kind::kText:
        content_ += event.text;
        break;
      case ToolEvent::Kind::kBegin:
        calls_.push_back({event.id, event.text, ""});
        break;
      case ToolEvent::Kind::kArguments:
        calls_.back().arguments += event.text;
        break;
      case ToolEvent::Kind::kEnd:
        break;
    }
  }
}

}  // namespace spindrift
