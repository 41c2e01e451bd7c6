// Any bytes as an answer with tool calls: the first byte chooses the format and where to cut.
// However it is cut, the calls are the same, and the arguments of each are the JSON text of an
// object.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "chat/jinja/json.h"
#include "chat/reasoning_split.h"
#include "chat/tool_calls.h"
#include "core/check.h"
#include "core/utf8.h"

namespace {

using namespace spindrift;

constexpr const char* kTools =
    R"([{"name": "f", "parameters": {"properties": {"s": {"type": "string"}, "n": {"type": ["string", "null"]},
    "i": {"type": "integer"}, "o": {"type": "object"}}}}])";

std::string shown(const ToolCallCollector& c) {
  std::string out = c.content();
  for (const ToolCall& call : c.calls()) out.append("\n").append(tool_call_json(call));
  return out;
}

ToolCallCollector collect(ToolCallFormat format, std::string_view text, size_t cut) {
  const auto parser =
      ToolCallParser::make({.format = format, .tools = kTools, .id_prefix = "c"}).value();
  ToolCallCollector out;
  while (cut != 0 && text.size() > cut) {
    out.add(parser->push(text.substr(0, cut)));
    text.remove_prefix(cut);
  }
  out.add(parser->push(text));
  out.add(parser->finish());
  return out;
}

void check_arguments(const ToolCall& call) {
  if (!valid_utf8(call.arguments)) return;  // the answer was not
  jinja::Runtime rt{jinja::Limits{}};
  try {
    SPINDRIFT_CHECK(jinja::read_json(rt, call.arguments, "arguments").is(jinja::Kind::kDict),
                    "arguments are an object");
  } catch (const jinja::TemplateError&) {
    SPINDRIFT_CHECK(false, "arguments are JSON");
  }
}

std::string split(ReasoningState state, std::string_view text, size_t cut) {
  ReasoningSplit splitter(state);
  ReasoningSplit::Piece all;
  const auto add = [&](const ReasoningSplit::Piece& piece) {
    all.reasoning += piece.reasoning;
    all.content += piece.content;
  };
  for (size_t at = 0; at < text.size(); at += cut) add(splitter.push(text.substr(at, cut)));
  add(splitter.finish());
  return all.reasoning + '\0' + all.content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const ToolCallFormat format =
      (data[0] & 1U) != 0 ? ToolCallFormat::kGranite : ToolCallFormat::kPoolside;
  const size_t cut = 1 + data[0] / 32U;
  const ToolCallCollector whole = collect(format, text, 0);
  SPINDRIFT_CHECK(shown(whole) == shown(collect(format, text, cut)),
                  "cutting the answer changes nothing");
  for (const ToolCall& call : whole.calls()) check_arguments(call);
  for (const ReasoningState state :
       {ReasoningState::kOpen, ReasoningState::kClosed, ReasoningState::kUndecided})
    SPINDRIFT_CHECK(split(state, text, cut) == split(state, text, text.size() + 1),
                    "cutting the answer changes nothing");
  return 0;
}
