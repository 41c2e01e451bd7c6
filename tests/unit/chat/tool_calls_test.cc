#include "chat/tool_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spindrift {
namespace {

constexpr const char* kTools = R"([
  {"type": "function", "function": {"name": "write", "parameters": {"type": "object", "properties": {
    "path": {"type": "string"}, "lines": {"type": "integer"}, "options": {"type": "object"},
    "note": {"type": ["string", "null"]}, "mode": {"enum": ["a", "b"]}, "flag": {"type": "boolean"}}}}},
  {"name": "ping", "parameters": {}}])";

std::unique_ptr<ToolCallParser> parser(ToolCallFormat format = ToolCallFormat::kPoolside) {
  return ToolCallParser::make({.format = format, .tools = kTools}).value();
}

ToolCallCollector collect(ToolCallFormat format, const std::vector<std::string_view>& pieces) {
  ToolCallCollector out;
  const auto p = parser(format);
  for (const std::string_view piece : pieces) out.add(p->push(piece));
  out.add(p->finish());
  return out;
}

ToolCallCollector poolside(std::string_view text) {
  return collect(ToolCallFormat::kPoolside, {text});
}

// Content and calls in one line, for comparison.
std::string shown(const ToolCallCollector& c) {
  std::string out = "[" + c.content() + "]";
  for (const ToolCall& call : c.calls()) out += " " + call.id + ":" + call.name + call.arguments;
  return out;
}

std::string argument(const std::string& key, const std::string& value) {
  return "<arg_key>" + key + "</arg_key><arg_value>" + value + "</arg_value>";
}

TEST(PoolsideToolCalls, ReadsNameAndTypedArguments) {
  const auto c = poolside("Sure.<tool_call>write\n" + argument("path", "a \"b\"\n") + "\n" +
                          argument("lines", " 12 ") +
                          argument("options", "{\"x\":[1,2.0],\"é\":null}") + "</tool_call>");
  EXPECT_EQ(shown(c),
            "[Sure.] call_0:write{\"path\": \"a \\\"b\\\"\\n\", \"lines\": 12, \"options\": "
            "{\"x\": [1, 2.0], \"é\": null}}");
}

TEST(PoolsideToolCalls, TheNewlineAfterTheNameIsOptional) {
  EXPECT_EQ(shown(poolside("<tool_call>ping</tool_call>")), "[] call_0:ping{}");
  EXPECT_EQ(shown(poolside("<tool_call>\nping\n</tool_call>")), "[] call_0:ping{}");
}

TEST(PoolsideToolCalls, StringsStayVerbatimWhateverTheyLookLike) {
  EXPECT_EQ(
      poolside("<tool_call>write" + argument("path", "12") + "</tool_call>").calls()[0].arguments,
      R"({"path": "12"})");
  EXPECT_EQ(poolside("<tool_call>write" + argument("mode", " true ") + "</tool_call>")
                .calls()[0]
                .arguments,
            R"({"mode": " true "})");
  EXPECT_EQ(
      poolside("<tool_call>write" + argument("note", "null") + "</tool_call>").calls()[0].arguments,
      R"({"note": null})");
  EXPECT_EQ(poolside("<tool_call>write" + argument("path", "</tool_call>") + "</tool_call>")
                .calls()[0]
                .arguments,
            R"({"path": "</tool_call>"})");
}

TEST(PoolsideToolCalls, OtherTypesTryJsonThenAPythonLiteralThenText) {
  const auto value = [](const std::string& key, const std::string& text) {
    return poolside("<tool_call>write" + argument(key, text) + "</tool_call>").calls()[0].arguments;
  };
  EXPECT_EQ(value("options", "{'a': True, 'b': (1, None)}"),
            R"({"options": {"a": true, "b": [1, null]}})");
  EXPECT_EQ(value("flag", "True"), R"({"flag": true})");
  EXPECT_EQ(value("flag", "none"), R"({"flag": "none"})");
  EXPECT_EQ(value("lines", "f(x)[0]"), R"({"lines": "f(x)[0]"})");
  EXPECT_EQ(value("lines", "NaN"), R"({"lines": "NaN"})");
  EXPECT_EQ(value("lines", "1 }}{{ 2"), R"({"lines": "1 }}{{ 2"})");
  EXPECT_EQ(value("unheard", "[1]"), R"({"unheard": [1]})");
  EXPECT_EQ(value("unheard", "True"), R"({"unheard": "True"})");
  EXPECT_EQ(value("lines", "123456789012345678901234567890"),
            R"({"lines": 123456789012345678901234567890})");
}

TEST(PoolsideToolCalls, SeveralCallsGetTheirOwnIds) {
  EXPECT_EQ(shown(poolside("<tool_call>ping</tool_call>\n<tool_call>ping</tool_call>\n")),
            "[] call_0:ping{} call_1:ping{}");
  EXPECT_EQ(shown(poolside("a <tool_call>ping</tool_call> b")), "[a  b] call_0:ping{}");
}

TEST(PoolsideToolCalls, OddCallsAreHandled) {
  EXPECT_EQ(shown(poolside("<tool_call></tool_call>x")), "[x]");
  EXPECT_EQ(shown(poolside("<tool_call>" + argument("a", "1") + "</tool_call>")), "[]");
  EXPECT_EQ(shown(poolside("<tool_call>ping" + argument("a", "1") + argument("a", "2") +
                           argument("b", "3") + "</tool_call>")),
            R"([] call_0:ping{"a": 1, "b": 3})");
  EXPECT_EQ(shown(poolside("<tool_call>ping<arg_key>a</arg_key></tool_call>")), "[] call_0:ping{}");
  EXPECT_EQ(shown(poolside("<tool_call>ping<tool_call>ping</tool_call>")),
            "[] call_0:ping{} call_1:ping{}");
  EXPECT_EQ(
      shown(poolside("<tool_call>{\"name\": \"ping\", \"arguments\": {\"a\": 1}}</tool_call>")),
      R"([] call_0:ping{"a": 1})");
}

TEST(PoolsideToolCalls, WhatTheEndCutsOffIsGivenAsFarAsItCame) {
  EXPECT_EQ(shown(poolside("<tool_call>ping")), "[] call_0:ping{}");
  EXPECT_EQ(shown(poolside("<tool_call>write<arg_key>path</arg_key><arg_value>ab</arg_v")),
            R"([] call_0:write{"path": "ab</arg_v"})");
  EXPECT_EQ(shown(poolside("<tool_call>write<arg_key>lines</arg_key><arg_value>12")),
            R"([] call_0:write{"lines": 12})");
  EXPECT_EQ(shown(poolside("<tool_call>write<arg_key>li")), "[] call_0:write{}");
  EXPECT_EQ(shown(poolside("text <tool_ca")), "[text <tool_ca]");
}

TEST(PoolsideToolCalls, TextWithoutCallsStaysAsItIs) {
  EXPECT_EQ(shown(poolside("  \n plain < text \n")), "[  \n plain < text \n]");
  EXPECT_EQ(shown(poolside("  \n")), "[  \n]");
}

TEST(PoolsideToolCalls, StringArgumentsStreamAndOthersWait) {
  const auto p = parser();
  const auto joined = [&](std::string_view text) {
    std::string out;
    for (const ToolEvent& e : p->push(text))
      if (e.kind == ToolEvent::Kind::kArguments) out += e.text;
    return out;
  };
  EXPECT_EQ(joined("<tool_call>write<arg_key>path</arg_key><arg_value>"), "{\"path\": \"");
  EXPECT_EQ(joined("ab\"c</arg"), "ab\\\"c");
  EXPECT_EQ(joined("_value><arg_key>lines</arg_key><arg_value>1"), "\", \"lines\": ");
  EXPECT_EQ(joined("2</arg_value>"), "12");
}

TEST(ToolCalls, EveryDivisionOfTheTextGivesTheSame) {
  const std::string poolside_text =
      " x<tool_call>write\n" + argument("path", "é<b\\") + "\n" + argument("lines", "[1]") +
      argument("path", "z") +
      "</tool_call> \n<tool_call>{\"name\":\"ping\"}</tool_call> y<tool_call";
  const std::string granite_text =
      " \n<|tool_call|>[{\"name\": \"ping\", \"arguments\": {\"é\": 1}}]";
  for (const auto& [format, text] :
       {std::pair{ToolCallFormat::kPoolside, poolside_text},
        std::pair{ToolCallFormat::kGranite, granite_text},
        std::pair{ToolCallFormat::kGranite, std::string("a <|tool_call|> b")},
        std::pair{ToolCallFormat::kNone, poolside_text}}) {
    const std::string_view view = text;
    const std::string expected = shown(collect(format, {view}));
    for (size_t i = 0; i <= view.size(); ++i)
      for (size_t j = i; j <= view.size(); j += 7)
        EXPECT_EQ(
            shown(collect(format, {view.substr(0, i), view.substr(i, j - i), view.substr(j)})),
            expected)
            << i << ", " << j;
    std::vector<std::string_view> bytes;
    for (size_t i = 0; i < view.size(); ++i) bytes.push_back(view.substr(i, 1));
    EXPECT_EQ(shown(collect(format, bytes)), expected);
  }
}

TEST(GraniteToolCalls, ReadsTheListAfterTheTag) {
  const auto granite = [](std::string_view text) {
    return shown(collect(ToolCallFormat::kGranite, {text}));
  };
  EXPECT_EQ(
      granite(
          R"(<|tool_call|>[{"name": "a", "arguments": {"x": 1.0}}, {"name": "b", "arguments": {}}])"),
      R"([] call_0:a{"x": 1.0} call_1:b{})");
  EXPECT_EQ(granite(R"(ok <|tool_call|> {"name": "a", "parameters": "{\"x\":1}"})"),
            R"([ok ] call_0:a{"x": 1})");
  EXPECT_EQ(granite("<|tool_call|>[{\"name\": "), "[<|tool_call|>[{\"name\": ]");
  EXPECT_EQ(granite("plain"), "[plain]");
}

TEST(ToolCalls, PrintAsOpenAiObjects) {
  EXPECT_EQ(
      tool_call_json({"call_0", "f", "{\"a\": \"b\"}"}),
      R"({"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{\"a\": \"b\"}"}})");
}

TEST(ToolCalls, ToolsThatAreNoListAreRefused) {
  EXPECT_EQ(ToolCallParser::make({.tools = "{}"}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(ToolCallParser::make({.tools = "["}).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace spindrift
