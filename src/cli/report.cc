#include "cli/report.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "app/draft_report.h"
#include "core/plural.h"
#include "core/thread_pool.h"

namespace spindrift::cli {
namespace {

using Json = nlohmann::ordered_json;

int64_t peak_rss_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace

std::string report_json(const Assembly& assembly, const RunFacts& facts, const Outcome& outcome,
                        const Answer& answer) {
  const GenerationStats& stats = outcome.stats;
  const Exec ex = assembly.exec();
  Json json = {{"model", assembly.model_name()}, {"draft_model", nullptr}};
  if (!assembly.draft_model_name().empty()) json["draft_model"] = assembly.draft_model_name();
  json["prompt_ids"] = facts.prompt_ids;
  json["token_ids"] = outcome.tokens;
  json["text"] = answer.text;
  json["reasoning"] = nullptr;
  if (answer.reasoning) json["reasoning"] = *answer.reasoning;
  json["tool_calls"] = Json::parse(answer.tool_calls_json);
  json["finish_reason"] = name(outcome.reason);
  const std::string draft =
      draft_report_json(assembly.drafter(), facts.draft, stats.draft, stats.generated_tokens);
  json["stats"] = {
      {"prompt_tokens", stats.prompt_tokens}, {"generated_tokens", stats.generated_tokens},
      {"load_s", assembly.load_seconds()},    {"prefill_s", stats.prefill_s},
      {"decode_s", stats.decode_s},           {"decode_tokens_per_s", stats.decode_tokens_per_s()},
      {"threads", thread_count(ex)},          {"isa", assembly.isa()},
      {"peak_rss_bytes", peak_rss_bytes()},   {"draft", Json::parse(draft)}};
  json["ledger_digest"] = outcome.ledger_digest;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string report_text(const Outcome& outcome, bool with_drafter) {
  const GenerationStats& stats = outcome.stats;
  // Without a first token the prompt was not read to its end, so it has no rate.
  const double prompt_rate = stats.generated_tokens > 0 ? stats.prefill_tokens_per_s() : 0;
  std::string out = fmt::format("prompt     {:6} {:<7} {:8.1f} tokens/s\n", stats.prompt_tokens,
                                plural(stats.prompt_tokens, "token") + ',', prompt_rate);
  if (stats.reused_tokens > 0)
    out.insert(out.size() - 1, fmt::format(" ({} kept from before)", stats.reused_tokens));
  out += fmt::format("generated  {:6} {:<7} {:8.1f} tokens/s (finish: {})\n",
                     stats.generated_tokens, plural(stats.generated_tokens, "token") + ',',
                     stats.decode_tokens_per_s(), name(outcome.reason));
  if (!with_drafter) return out;
  const DraftStats& draft = stats.draft;
  out += fmt::format(
      "drafting   {:6} {} and {} plain, {:.2f} tokens per round, {:.2f} accepted "
      "per drafted round\n",
      draft.rounds, plural(draft.rounds, "round"), draft.plain_rounds,
      draft.tokens_per_round(stats.generated_tokens), draft.mean_accepted());
  if (draft.rounds > 0) {
    out += "accepted by position";
    for (const double share : draft.acceptance_by_position()) out += fmt::format(" {:.2f}", share);
    out += '\n';
  }
  if (!draft.decision.empty()) out += fmt::format("decision   {}\n", draft.decision);
  return out;
}

void print_tool_calls(const Answer& answer, Terminal& out) {
  for (const Json& call : Json::parse(answer.tool_calls_json)) {
    out.end_line();
    out.write(call.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
}

}  // namespace spindrift::cli
