#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/answer.h"
#include "server/reply_format.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class ChatFormat final : public ReplyFormat {
 public:
  ChatFormat(const Assembly& assembly, const Job& job)
      : ReplyFormat(assembly, job), states_(job.answers()) {
    for (size_t a = 0; a < job.answers(); ++a) {
      const std::string prefix = "call_" + job.id.substr(0, 12) + "_" + std::to_string(a) + "_";
      states_[a].answer =
          std::make_unique<AnswerStream>(assembly, AnswerOptions{.prompt = job.prompt(a).text,
                                                                 .tools = job.tools_json,
                                                                 .split = true,
                                                                 .tool_calls = job.tool_calls,
                                                                 .call_prefix = prefix});
    }
  }

  std::string begin() override {
    std::string out;
    for (size_t a = 0; a < states_.size(); ++a)
      out += chunk(a, {{"role", "assistant"}, {"content", ""}}, std::nullopt, {});
    return out;
  }

  std::string chunks(size_t a, Progress progress) override {
    State& state = states_[a];
    for (Progress::Token& token : progress.tokens) state.tokens.push_back(std::move(token));
    std::string out;
    for (const Progress::Text& text : progress.texts)
      out += pieces(a, state.answer->push(text.text), text.drafted);
    if (!progress.outcome) return out;
    out += pieces(a, state.answer->finish(), false);
    Outcome& outcome = *progress.outcome;
    Json extra = Json::object();
    if (job().common.return_ledger) extra["ledger_digest"] = outcome.ledger_digest;
    out += chunk(a, Json::object(), finish_reason(outcome, *state.answer), extra);
    keep(a, std::move(outcome));
    return out;
  }

  std::string body(std::vector<Progress> what) override {
    Json choices = Json::array();
    for (size_t a = 0; a < what.size(); ++a) {
      Outcome& outcome = *what[a].outcome;
      AnswerStream& answer = *states_[a].answer;
      answer.push(outcome.text);
      answer.finish();
      Json choice = {{"index", a}, {"message", message(answer)}, {"logprobs", nullptr}};
      if (job().common.top_logprobs) choice["logprobs"] = logprobs_json(what[a].tokens);
      choice["finish_reason"] = finish_reason(outcome, answer);
      if (job().common.return_token_ids) choice["token_ids"] = outcome.tokens;
      if (job().common.return_ledger) choice["ledger_digest"] = outcome.ledger_digest;
      choices.push_back(std::move(choice));
      keep(a, std::move(outcome));
    }
    return whole(dump(choices));
  }

 private:
  struct State {
    std::unique_ptr<AnswerStream> answer;
    std::vector<Progress::Token> tokens;  // not yet in a chunk
  };

  const char* id_prefix() const override { return "chatcmpl-"; }
  const char* object(bool chunk) const override {
    return chunk ? "chat.completion.chunk" : "chat.completion";
  }

  static std::string finish_reason(const Outcome& outcome, const AnswerStream& answer) {
    if (outcome.reason == FinishReason::kStop && answer.tool_calls() > 0) return "tool_calls";
    return std::string(name(outcome.reason));
  }

  static Json message(const AnswerStream& answer) {
    Json out = {{"role", "assistant"}, {"content", answer.content()}};
    if (answer.content().empty() && answer.tool_calls() > 0) out["content"] = nullptr;
    if (answer.reasoning()) out["reasoning_content"] = *answer.reasoning();
    if (answer.tool_calls() > 0) out["tool_calls"] = Json::parse(answer.tool_calls_json());
    return out;
  }

  std::string pieces(size_t a, const std::vector<AnswerPiece>& all, bool drafted) {
    std::string out;
    for (const AnswerPiece& piece : all) out += chunk(a, delta(piece, drafted), std::nullopt, {});
    return out;
  }

  Json delta(const AnswerPiece& piece, bool drafted) const {
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

  // One event of one choice; it takes along the tokens that have come since the last one.
  std::string chunk(size_t a, Json delta, const std::optional<std::string>& reason,
                    const Json& extra) {
    Json choice = {{"index", a},
                   {"delta", std::move(delta)},
                   {"logprobs", nullptr},
                   {"finish_reason", nullptr}};
    if (reason) choice["finish_reason"] = *reason;
    const auto tokens = std::exchange(states_[a].tokens, {});
    if (job().common.top_logprobs && !tokens.empty()) choice["logprobs"] = logprobs_json(tokens);
    if (job().common.return_token_ids) {
      Json ids = Json::array();
      for (const Progress::Token& token : tokens) ids.push_back(token.id);
      choice["token_ids"] = std::move(ids);
    }
    if (extra.is_object()) choice.update(extra);
    return event(dump(choice));
  }

  Json token_json(TokenId id, float logprob) const {
    Json bytes = Json::array();
    for (const char byte : assembly().tokenizer().bytes(id))
      bytes.push_back(static_cast<unsigned char>(byte));
    return {{"token", token_text(assembly().tokenizer(), id)},
            {"logprob", logprob},
            {"bytes", std::move(bytes)}};
  }

  Json logprobs_json(const std::vector<Progress::Token>& tokens) const {
    Json content = Json::array();
    for (const Progress::Token& token : tokens) {
      if (!token.logprobs || is_stop_id(token.id)) continue;
      Json entry = token_json(token.id, token.logprobs->chosen);
      entry["top_logprobs"] = Json::array();
      for (const TokenLogprob& top : token.logprobs->top)
        entry["top_logprobs"].push_back(token_json(top.id, top.logprob));
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<ReplyFormat> make_chat_format(const Assembly& assembly, const Job& job) {
  return std::make_unique<ChatFormat>(assembly, job);
}

}  // namespace spindrift::server
