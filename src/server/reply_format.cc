#include "server/reply_format.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "app/draft_report.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

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
  std::string object = dump({{"id", id_prefix() + job_.id},
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
  return dump(usage);
}

std::string ReplyFormat::event(const std::string& choices) const {
  std::string out = "data: ";
  out += envelope(true);
  out += ",\"choices\":[";
  out += choices;
  out += job_.common.include_usage ? "],\"usage\":null}\n\n" : "]}\n\n";
  return out;
}

std::string ReplyFormat::whole(const std::string& choices) const {
  std::string out = envelope(false);
  out += ",\"choices\":";
  out += choices;
  out += ",\"usage\":";
  out += usage_json();
  out += '}';
  return out;
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
