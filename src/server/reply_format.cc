#include "server/reply_format.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/draft_report.h"
#include "server/json_text.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;

void add(std::vector<int64_t>& sum, const std::vector<int64_t>& more) {
  if (more.size() > sum.size()) sum.resize(more.size());
  for (size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

void add(DraftStats& sum, const DraftStats& more) {
  sum.rounds += more.rounds;
  sum.plain_rounds += more.plain_rounds;
  sum.drafted += more.drafted;
  sum.accepted += more.accepted;
  add(sum.drafted_to_depth, more.drafted_to_depth);
  add(sum.accepted_at_depth, more.accepted_at_depth);
  sum.draft_s += more.draft_s;
  sum.verify_s += more.verify_s;
  sum.decision = more.decision;
}

}  // namespace

bool ReplyFormat::is_stop_id(TokenId id) const {
  const StopSpec& stop = job_.common.stop;
  return !stop.ignore_eos && std::find(stop.ids.begin(), stop.ids.end(), id) != stop.ids.end();
}

void ReplyFormat::keep(size_t answer, Outcome outcome) {
  // A prompt counts once, whatever its choices, so what was kept of it does too.
  if (answer % static_cast<size_t>(job_.common.choices) == 0)
    cached_ += outcome.stats.reused_tokens;
  outcomes_.push_back(std::move(outcome));
}

std::string ReplyFormat::envelope(bool chunk) const {
  std::string object = json_text(Json{{"id", id_prefix() + job_.id},
                                      {"object", this->object(chunk)},
                                      {"created", job_.created},
                                      {"model", job_.model}});
  object.pop_back();
  return object;
}

std::string ReplyFormat::usage_json() const {
  int64_t read = 0;
  int64_t generated = 0;
  DraftStats draft;
  for (const Prompt& prompt : job_.prompts) read += std::ssize(prompt.ids);
  for (const Outcome& outcome : outcomes_) {
    generated += outcome.stats.generated_tokens;
    add(draft, outcome.stats.draft);
  }
  const Json usage = {
      {"prompt_tokens", read},
      {"completion_tokens", generated},
      {"total_tokens", read + generated},
      {"prompt_tokens_details", {{"cached_tokens", cached_}}},
      {"completion_tokens_details", {{"accepted_prediction_tokens", draft.accepted}}},
      {"draft",
       Json::parse(draft_report_json(assembly_.drafter(), job_.common.draft, draft, generated))}};
  return json_text(usage);
}

// `content` and what both kinds of choices have: members of one object, written side by side.
std::string ReplyFormat::choice(size_t answer, const std::string& content,
                                const std::string& logprobs, std::span<const TokenId> ids,
                                const Outcome* outcome) const {
  std::string out = "{\"index\":" + std::to_string(answer) + ',';
  out.append(content, 1, content.size() - 2);
  out += ",\"logprobs\":" + (logprobs.empty() ? "null" : logprobs);
  Json rest = {{"finish_reason", nullptr}};
  if (outcome != nullptr) rest["finish_reason"] = finish_reason(answer, *outcome);
  if (job_.common.return_token_ids) rest["token_ids"] = ids;
  if (outcome != nullptr && job_.common.return_ledger)
    rest["ledger_digest"] = outcome->ledger_digest;
  return out + ',' + json_text(rest).substr(1);
}

std::string ReplyFormat::chunk(size_t answer, const std::string& content, const Outcome* outcome) {
  const auto tokens = std::exchange(waiting_[answer], {});
  std::vector<TokenId> ids;
  for (const Progress::Token& token : tokens) ids.push_back(token.id);
  std::string logprobs;
  if (job_.common.top_logprobs && !tokens.empty()) logprobs = logprobs_json(answer, tokens);
  return "data: " + envelope(true) + ",\"choices\":[" +
         choice(answer, content, logprobs, ids, outcome) +
         (job_.common.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n");
}

std::string ReplyFormat::chunks(size_t answer, Progress progress) {
  std::move(progress.tokens.begin(), progress.tokens.end(), std::back_inserter(waiting_[answer]));
  std::string out;
  for (const Progress::Text& text : progress.texts)
    for (const std::string& piece : pieces(answer, text)) out += chunk(answer, piece);
  if (!progress.outcome) return out;
  const std::vector<std::string> last = last_pieces(answer);
  for (const std::string& piece : last)
    out += chunk(answer, piece, &piece == &last.back() ? &*progress.outcome : nullptr);
  keep(answer, std::move(*progress.outcome));
  return out;
}

std::string ReplyFormat::body(std::vector<Progress> what) {
  std::string choices;
  for (size_t answer = 0; answer < what.size(); ++answer) {
    Outcome& outcome = *what[answer].outcome;
    const std::string content = whole(answer, outcome.text);
    std::string logprobs;
    if (job_.common.top_logprobs) logprobs = logprobs_json(answer, what[answer].tokens);
    if (answer > 0) choices += ',';
    choices += choice(answer, content, logprobs, outcome.tokens, &outcome);
    keep(answer, std::move(outcome));
  }
  return envelope(false) + ",\"choices\":[" + choices + "],\"usage\":" + usage_json() + '}';
}

std::string ReplyFormat::end() {
  std::string out;
  if (job_.common.include_usage) {
    out = "data: ";
    out += envelope(true);
    out += ",\"choices\":[],\"usage\":";
    out += usage_json();
    out += "}\n\n";
  }
  out += "data: [DONE]\n\n";
  return out;
}

std::string token_text(const Tokenizer& tokenizer, TokenId id) {
  const std::array one = {id};
  return tokenizer.decode(one, /*skip_special=*/false);
}

}  // namespace spindrift::server
