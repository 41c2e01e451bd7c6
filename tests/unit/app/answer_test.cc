#include "app/answer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spindrift {
namespace {

// The byte alphabet and two special tokens, one of them Granite's tag.
constexpr std::string_view kTokenizer = R"({
  "added_tokens": [
    {"id": 2, "content": "<|end|>", "special": true, "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false},
    {"id": 3, "content": "<|tool_call|>", "special": true, "single_word": false, "lstrip": false,
     "rstrip": false, "normalized": false}],
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})";

// An assembly with a template and a tokenizer and nothing else.
class Texts final : public Assembly {
 public:
  explicit Texts(std::string_view template_source)
      : tokenizer_(Tokenizer::parse(kTokenizer, "tokenizer.json").value()),
        template_(ChatTemplate::parse(template_source, "template").value()) {}
  const std::string& model_name() const override { return name_; }
  const std::string& draft_model_name() const override { return name_; }
  const TargetModel& target() const override { std::abort(); }
  const Drafter* drafter() const override { return nullptr; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  const ChatTemplate* chat_template() const override { return template_.get(); }
  const SpecialTokens& special_tokens() const override { return special_; }
  const GenerationDefaults& defaults() const override { return defaults_; }
  Exec exec() const override { return {}; }
  std::string_view isa() const override { return {}; }
  const std::vector<std::string>& warnings() const override { return warnings_; }
  double load_seconds() const override { return 0; }
  std::vector<std::span<const std::byte>> weight_files() const override { return {}; }

 private:
  std::string name_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> template_;
  SpecialTokens special_;
  GenerationDefaults defaults_;
  std::vector<std::string> warnings_;
};

constexpr std::string_view kLaguna = "<think></think><tool_call>";
constexpr std::string_view kGranite = "<|tool_call|>";

struct Shown {
  std::string reasoning, content;
  std::string calls;  // "NAME#ID(ARGUMENTS" a call
};

Shown feed(AnswerStream& stream, std::string_view text, size_t step) {
  Shown shown;
  const auto take = [&](const std::vector<AnswerPiece>& pieces) {
    for (const AnswerPiece& piece : pieces) {
      switch (piece.kind) {
        case AnswerPiece::Kind::kReasoning:
          shown.reasoning += piece.text;
          break;
        case AnswerPiece::Kind::kContent:
          shown.content += piece.text;
          break;
        case AnswerPiece::Kind::kToolCall:
          shown.calls += piece.text + "#" + piece.id + "(";
          break;
        case AnswerPiece::Kind::kToolArguments:
          shown.calls += piece.text;
          break;
      }
    }
  };
  for (size_t at = 0; at < text.size(); at += step) take(stream.push(text.substr(at, step)));
  take(stream.finish());
  return shown;
}

TEST(AnswerStream, SplitsReasoningContentAndCallsHoweverTheTextArrives) {
  const Texts texts(kLaguna);
  const std::string text =
      "add them</think>Sure.<tool_call>add<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>";
  for (const size_t step : {size_t{1}, size_t{3}, size_t{7}, text.size()}) {
    AnswerStream stream(
        texts, {.prompt = "<user>1+1</user><assistant><think>", .tools = "", .split = true});
    const Shown shown = feed(stream, text, step);
    EXPECT_EQ(shown.reasoning, "add them") << step;
    EXPECT_EQ(shown.content, "Sure.") << step;
    EXPECT_EQ(shown.calls, R"(add#call_0({"a": 1})") << step;
    EXPECT_EQ(stream.reasoning(), "add them");
    EXPECT_EQ(stream.content(), "Sure.");
    EXPECT_EQ(stream.tool_calls_json(),
              R"([{"id": "call_0", "type": "function", "function": {"name": "add", "arguments": )"
              R"("{\"a\": 1}"}}])");
  }
}

TEST(AnswerStream, AClosedPromptHasNoReasoning) {
  const Texts texts(kLaguna);
  AnswerStream stream(texts, {.prompt = "<assistant></think>", .tools = "", .split = true});
  const Shown shown = feed(stream, "<think>\n</think>x = 1", 2);
  EXPECT_EQ(stream.reasoning(), std::nullopt);
  EXPECT_EQ(shown.content, stream.content());
  EXPECT_EQ(stream.content().find("think"), std::string::npos);
  EXPECT_EQ(stream.tool_calls_json(), "[]");
}

TEST(AnswerStream, TypesOfToolsDecideWhatAnArgumentIs) {
  const Texts texts(kLaguna);
  const std::string tools =
      R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",)"
      R"("properties": {"a": {"type": "string"}}}}}])";
  AnswerStream stream(texts, {.prompt = "<assistant></think>", .tools = tools, .split = true});
  feed(stream, "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>", 5);
  EXPECT_NE(stream.tool_calls_json().find(R"({\"a\": \"1\"})"), std::string::npos)
      << stream.tool_calls_json();
  EXPECT_EQ(stream.content(), "");
}

TEST(AnswerStream, WithoutSplittingEverythingIsContent) {
  const Texts texts(kLaguna);
  AnswerStream stream(texts, {.prompt = "<assistant><think>", .tools = "", .split = false});
  const std::string text = "a</think><tool_call>f</tool_call>";
  EXPECT_EQ(feed(stream, text, 4).content, text);
  EXPECT_EQ(stream.content(), text);
  EXPECT_EQ(stream.reasoning(), std::nullopt);
  EXPECT_EQ(stream.tool_calls_json(), "[]");
}

TEST(AnswerStream, WithoutToolCallsTheirTextIsContentAndReasoningIsStillSplit) {
  const Texts texts(kLaguna);
  AnswerStream stream(
      texts, {.prompt = "<assistant><think>", .tools = {}, .split = true, .tool_calls = false});
  const Shown shown = feed(stream, "why</think><tool_call>f</tool_call>", 4);
  EXPECT_EQ(shown.reasoning, "why");
  EXPECT_EQ(shown.content, "<tool_call>f</tool_call>");
  EXPECT_EQ(stream.tool_calls(), 0);
}

TEST(AnswerStream, IdsOfCallsBeginAsTheCallerSays) {
  const Texts texts(kLaguna);
  AnswerStream stream(texts, {.prompt = "<assistant></think>",
                              .tools = {},
                              .split = true,
                              .tool_calls = true,
                              .call_prefix = "call_7f_"});
  EXPECT_EQ(feed(stream, "<tool_call>f</tool_call><tool_call>g</tool_call>", 3).calls,
            "f#call_7f_0({}g#call_7f_1({}");
  EXPECT_EQ(stream.tool_calls(), 2);
}

TEST(AnswerStream, ReadsGranitesListOfCalls) {
  const Texts texts(kGranite);
  AnswerStream stream(texts, {.prompt = "", .tools = "", .split = true});
  feed(stream, R"(<|tool_call|>[{"name": "f", "arguments": {"x": [1]}}])", 6);
  EXPECT_NE(stream.tool_calls_json().find(R"("name": "f")"), std::string::npos);
  EXPECT_EQ(stream.content(), "");
}

TEST(AnswerDecoder, KeepsTagsThatAreSpecialTokensOnlyWhereTheyAreSplitBy) {
  const Texts texts(kGranite);
  const auto text = [&](bool split) {
    const auto decoder = answer_decoder(texts, split);
    std::string out;
    for (const TokenId id : {0, 3, 1, 2}) out += decoder->push(id);
    return out + decoder->finish();
  };
  EXPECT_EQ(text(true), "a<|tool_call|>b");
  EXPECT_EQ(text(false), "ab");
}

}  // namespace
}  // namespace spindrift
