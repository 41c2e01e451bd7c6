#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "server/reply_format.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

class TextFormat final : public ReplyFormat {
 public:
  TextFormat(const Assembly& assembly, const Job& job)
      : ReplyFormat(assembly, job), states_(job.answers()) {}

  std::string begin() override { return {}; }

  std::string chunks(size_t a, Progress progress) override {
    State& state = states_[a];
    for (Progress::Token& token : progress.tokens) state.tokens.push_back(std::move(token));
    std::string out;
    for (const Progress::Text& text : progress.texts)
      out += chunk(a, text.text, text.drafted, nullptr);
    if (!progress.outcome) return out;
    out += chunk(a, "", false, &*progress.outcome);
    keep(a, std::move(*progress.outcome));
    return out;
  }

  std::string body(std::vector<Progress> what) override {
    Json choices = Json::array();
    for (size_t a = 0; a < what.size(); ++a) {
      Outcome& outcome = *what[a].outcome;
      Json choice = {{"text", outcome.text}, {"index", a}, {"logprobs", nullptr}};
      if (job().common.top_logprobs) choice["logprobs"] = logprobs_json(a, what[a].tokens);
      choice["finish_reason"] = name(outcome.reason);
      if (job().common.return_token_ids) choice["token_ids"] = outcome.tokens;
      if (job().common.return_ledger) choice["ledger_digest"] = outcome.ledger_digest;
      choices.push_back(std::move(choice));
      keep(a, std::move(outcome));
    }
    return whole(dump(choices));
  }

 private:
  struct State {
    std::vector<Progress::Token> tokens;  // not yet in a chunk
    int64_t offset = 0;                   // code points of the tokens shown
  };

  const char* id_prefix() const override { return "cmpl-"; }
  const char* object(bool /*chunk*/) const override { return "text_completion"; }

  std::string chunk(size_t a, const std::string& text, bool drafted, const Outcome* outcome) {
    Json choice = {{"text", text}, {"index", a}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
    const auto tokens = std::exchange(states_[a].tokens, {});
    if (job().common.top_logprobs && !tokens.empty()) choice["logprobs"] = logprobs_json(a, tokens);
    if (outcome != nullptr) choice["finish_reason"] = name(outcome->reason);
    if (outcome == nullptr && assembly().drafter() != nullptr) choice["drafted"] = drafted;
    if (job().common.return_token_ids) {
      Json ids = Json::array();
      for (const Progress::Token& token : tokens) ids.push_back(token.id);
      choice["token_ids"] = std::move(ids);
    }
    if (outcome != nullptr && job().common.return_ledger)
      choice["ledger_digest"] = outcome->ledger_digest;
    return event(dump(choice));
  }

  Json logprobs_json(size_t a, const std::vector<Progress::Token>& tokens) {
    const Tokenizer& tokenizer = assembly().tokenizer();
    Json texts = Json::array();
    Json chosen = Json::array();
    Json tops = Json::array();
    Json offsets = Json::array();
    for (const Progress::Token& token : tokens) {
      if (!token.logprobs || is_stop_id(token.id)) continue;
      const std::string text = token_text(tokenizer, token.id);
      texts.push_back(text);
      chosen.push_back(token.logprobs->chosen);
      Json top = Json::object();
      for (const TokenLogprob& entry : token.logprobs->top)
        top[token_text(tokenizer, entry.id)] = entry.logprob;
      tops.push_back(std::move(top));
      offsets.push_back(states_[a].offset);
      states_[a].offset += code_points(text);
    }
    return {{"tokens", std::move(texts)},
            {"token_logprobs", std::move(chosen)},
            {"top_logprobs", std::move(tops)},
            {"text_offset", std::move(offsets)}};
  }

  std::vector<State> states_;
};

}  // namespace

std::unique_ptr<ReplyFormat> make_text_format(const Assembly& assembly, const Job& job) {
  return std::make_unique<TextFormat>(assembly, job);
}

}  // namespace spindrift::server
