#include <nlohmann/json.hpp>
#include <utility>

#include "app/answer.h"
#include "server/json_text.h"
#include "server/reply_format.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;

class ChatFormat final : public ReplyFormat {
 public:
  ChatFormat(const Assembly& assembly, const Job& job) : ReplyFormat(assembly, job) {
    for (size_t a = 0; a < job.answers(); ++a) {
      const std::string prefix = "call_" + job.id.substr(0, 12) + "_" + std::to_string(a) + "_";
      streams_.push_back(
          std::make_unique<AnswerStream>(assembly, AnswerOptions{.prompt = job.prompt(a).text,
                                                                 .tools = job.tools_json,
                                                                 .split = true,
                                                                 .tool_calls = job.tool_calls,
                                                                 .call_prefix = prefix}));
    }
  }

  std::string begin() override {
    std::string out;
    for (size_t a = 0; a < streams_.size(); ++a)
      out += chunk(a, delta({{"role", "assistant"}, {"content", ""}}));
    return out;
  }

 private:
  const char* id_prefix() const override { return "chatcmpl-"; }
  const char* object(bool chunk) const override {
    return chunk ? "chat.completion.chunk" : "chat.completion";
  }

  std::vector<std::string> pieces(size_t a, const Progress::Text& text) override {
    return deltas(streams_[a]->push(text.text), text.drafted);
  }
  std::vector<std::string> last_pieces(size_t a) override {
    std::vector<std::string> out = deltas(streams_[a]->finish(), false);
    out.push_back(delta(Json::object()));
    return out;
  }
  std::string whole(size_t a, const std::string& text) override {
    AnswerStream& answer = *streams_[a];
    answer.push(text);
    answer.finish();
    return json_text(Json{{"message", message(answer)}});
  }
  std::string finish_reason(size_t a, const Outcome& outcome) const override {
    if (outcome.reason == FinishReason::kStop && streams_[a]->tool_calls() > 0) return "tool_calls";
    return std::string(name(outcome.reason));
  }

  static Json message(const AnswerStream& answer) {
    Json out = {{"role", "assistant"}, {"content", answer.content()}};
    if (answer.content().empty() && answer.tool_calls() > 0) out["content"] = nullptr;
    if (answer.reasoning()) out["reasoning_content"] = *answer.reasoning();
    if (answer.tool_calls() > 0) out["tool_calls"] = Json::parse(answer.tool_calls_json());
    return out;
  }

  static std::string delta(const Json& json) { return json_text(Json{{"delta", json}}); }

  std::vector<std::string> deltas(const std::vector<AnswerPiece>& all, bool drafted) const {
    std::vector<std::string> out;
    for (const AnswerPiece& piece : all) out.push_back(delta(piece_json(piece, drafted)));
    return out;
  }

  Json piece_json(const AnswerPiece& piece, bool drafted) const {
    Json out;
    switch (piece.kind) {
      case AnswerPiece::Kind::kReasoning:
        out = {{"reasoning_content", piece.text}};
        break;
      case AnswerPiece::Kind::kContent:
        out = {{"content", piece.text}};
        break;
      case AnswerPiece::Kind::kToolCall: {
        const Json function = {{"name", piece.text}, {"arguments", ""}};
        const Json call = {
            {"index", piece.call}, {"id", piece.id}, {"type", "function"}, {"function", function}};
        return {{"tool_calls", Json::array({call})}};
      }
      case AnswerPiece::Kind::kToolArguments: {
        const Json call = {{"index", piece.call}, {"function", {{"arguments", piece.text}}}};
        return {{"tool_calls", Json::array({call})}};
      }
    }
    if (assembly().drafter() != nullptr) out["drafted"] = drafted;
    return out;
  }

  Json token_json(TokenId id, float logprob) const {
    Json bytes = Json::array();
    for (const char byte : assembly().tokenizer().bytes(id))
      bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", token_text(assembly().tokenizer(), id)},
            {"logprob", logprob},
            {"bytes", std::move(bytes)}};
  }

  std::string logprobs_json(size_t /*answer*/,
                            const std::vector<Progress::Token>& tokens) override {
    Json content = Json::array();
    for (const Progress::Token& token : tokens) {
      if (!token.logprobs || is_stop_id(token.id)) continue;
      Json entry = token_json(token.id, token.logprobs->chosen);
      entry["top_logprobs"] = Json::array();
      for (const TokenLogprob& top : token.logprobs->top)
        entry["top_logprobs"].push_back(token_json(top.id, top.logprob));
      content.push_back(std::move(entry));
    }
    return json_text(Json{{"content", std::move(content)}, {"refusal", nullptr}});
  }

  std::vector<std::unique_ptr<AnswerStream>> streams_;  // of each answer
};

}  // namespace

std::unique_ptr<ReplyFormat> make_chat_format(const Assembly& assembly, const Job& job) {
  return std::make_unique<ChatFormat>(assembly, job);
}

}  // namespace spindrift::server
