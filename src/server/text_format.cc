#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "server/json_text.h"
#include "server/reply_format.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;

int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

class TextFormat final : public ReplyFormat {
 public:
  TextFormat(const Assembly& assembly, const Job& job)
      : ReplyFormat(assembly, job), offsets_(job.answers()) {}

  std::string begin() override { return {}; }

 private:
  const char* id_prefix() const override { return "cmpl-"; }
  const char* object(bool /*chunk*/) const override { return "text_completion"; }

  std::vector<std::string> pieces(size_t /*answer*/, const Progress::Text& text) override {
    Json out = {{"text", text.text}};
    if (assembly().drafter() != nullptr) out["drafted"] = text.drafted;
    return {json_text(out)};
  }
  std::vector<std::string> last_pieces(size_t answer) override { return {whole(answer, "")}; }
  std::string whole(size_t /*answer*/, const std::string& text) override {
    return json_text(Json{{"text", text}});
  }
  std::string finish_reason(size_t /*answer*/, const Outcome& outcome) const override {
    return std::string(name(outcome.reason));
  }

  std::string logprobs_json(size_t answer, const std::vector<Progress::Token>& tokens) override {
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
      offsets.push_back(offsets_[answer]);
      offsets_[answer] += code_points(text);
    }
    return json_text(Json{{"tokens", std::move(texts)},
                          {"token_logprobs", std::move(chosen)},
                          {"top_logprobs", std::move(tops)},
                          {"text_offset", std::move(offsets)}});
  }

  std::vector<int64_t> offsets_;  // of each answer: code points of the tokens shown
};

}  // namespace

std::unique_ptr<ReplyFormat> make_text_format(const Assembly& assembly, const Job& job) {
  return std::make_unique<TextFormat>(assembly, job);
}

}  // namespace spindrift::server
