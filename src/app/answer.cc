#include "app/answer.h"

#include <array>
#include <map>
#include <utility>

#include "chat/reasoning_split.h"
#include "chat/tool_calls.h"
#include "engine/stream_decoder.h"

namespace spindrift {
namespace {

// Tags that some vocabularies list as special tokens.
constexpr std::array<std::string_view, 5> kTags = {"<think>", "</think>", "<tool_call>",
                                                   "</tool_call>", "<|tool_call|>"};

std::unique_ptr<ToolCallParser> make_parser(const Assembly& assembly, const AnswerOptions& answer) {
  if (!answer.split) return nullptr;
  ToolCallOptions options;
  options.format = assembly.chat_template() == nullptr || !answer.tool_calls
                       ? ToolCallFormat::kNone
                       : assembly.chat_template()->tool_call_format();
  options.tools = answer.tools;
  options.id_prefix = answer.call_prefix;
  auto parser = ToolCallParser::make(options);
  if (parser.ok()) return std::move(parser).value();
  // Tools that are no list of tools tell no types; the template has judged them as a prompt.
  options.tools.clear();
  return ToolCallParser::make(options).value();
}

// Special tokens that are tags keep their spelling.
class TagDecoder final : public TextDecoder {
 public:
  TagDecoder(const Tokenizer& tokenizer, std::map<TokenId, std::string> tags)
      : stream_(tokenizer), tags_(std::move(tags)) {}
  std::string push(TokenId id) override {
    const auto tag = tags_.find(id);
    return tag == tags_.end() ? stream_.push(id) : stream_.finish() + tag->second;
  }
  std::string finish() override { return stream_.finish(); }

 private:
  TokenStream stream_;
  std::map<TokenId, std::string> tags_;
};

}  // namespace

struct AnswerStream::State {
  ReasoningSplit split;
  std::unique_ptr<ToolCallParser> parser;  // null: everything is content
  ToolCallCollector collected;
  std::string unsplit;
  std::optional<std::string> reasoning;

  std::vector<AnswerPiece> take(ReasoningSplit::Piece piece, bool end) {
    std::vector<AnswerPiece> out;
    if (!piece.reasoning.empty()) {
      reasoning = reasoning.value_or("") + piece.reasoning;
      out.push_back({.kind = AnswerPiece::Kind::kReasoning, .text = std::move(piece.reasoning)});
    }
    take(parser->push(piece.content), out);
    if (end) take(parser->finish(), out);
    return out;
  }
  void take(const std::vector<ToolEvent>& events, std::vector<AnswerPiece>& out) {
    collected.add(events);
    for (const ToolEvent& event : events) {
      if (event.kind == ToolEvent::Kind::kEnd) continue;
      if (event.text.empty() && event.kind != ToolEvent::Kind::kBegin) continue;
      out.push_back({kind(event.kind), event.text, event.index, event.id});
    }
  }
  static AnswerPiece::Kind kind(ToolEvent::Kind event) {
    if (event == ToolEvent::Kind::kBegin) return AnswerPiece::Kind::kToolCall;
    if (event == ToolEvent::Kind::kArguments) return AnswerPiece::Kind::kToolArguments;
    return AnswerPiece::Kind::kContent;
  }
};

AnswerStream::AnswerStream(const Assembly& assembly, const AnswerOptions& options)
    : state_(new State{.split = ReasoningSplit(reasoning_state(options.prompt)),
                       .parser = make_parser(assembly, options),
                       .collected = {},
                       .unsplit = {},
                       .reasoning = {}}) {}
AnswerStream::~AnswerStream() = default;

std::vector<AnswerPiece> AnswerStream::push(std::string_view piece) {
  if (piece.empty()) return {};
  if (state_->parser != nullptr) return state_->take(state_->split.push(piece), /*end=*/false);
  state_->unsplit += piece;
  return {{.kind = AnswerPiece::Kind::kContent, .text = std::string(piece)}};
}

std::vector<AnswerPiece> AnswerStream::finish() {
  if (state_->parser == nullptr) return {};
  return state_->take(state_->split.finish(), /*end=*/true);
}

const std::string& AnswerStream::content() const {
  return state_->parser == nullptr ? state_->unsplit : state_->collected.content();
}
const std::optional<std::string>& AnswerStream::reasoning() const { return state_->reasoning; }

int AnswerStream::tool_calls() const { return static_cast<int>(state_->collected.calls().size()); }
std::string AnswerStream::tool_calls_json() const {
  std::string out = "[";
  for (const ToolCall& call : state_->collected.calls())
    out += (out.size() > 1 ? ", " : "") + tool_call_json(call);
  return out + "]";
}

std::unique_ptr<TextDecoder> answer_decoder(const Assembly& assembly, bool split) {
  const Tokenizer& tokenizer = assembly.tokenizer();
  std::map<TokenId, std::string> tags;
  for (const std::string_view tag : kTags) {
    const auto id = tokenizer.token_id(tag);
    if (split && id && tokenizer.is_special(*id)) tags[*id] = tag;
  }
  if (tags.empty()) return std::make_unique<StreamDecoder>(tokenizer);
  return std::make_unique<TagDecoder>(tokenizer, std::move(tags));
}

}  // namespace spindrift
