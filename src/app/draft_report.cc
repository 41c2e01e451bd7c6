#include "app/draft_report.h"

#include <nlohmann/json.hpp>

namespace spindrift {

std::string draft_report_json(const Drafter* drafter, const DraftWidth& width,
                              const DraftStats& stats, int64_t generated) {
  using Json = nlohmann::ordered_json;
  if (drafter == nullptr) return "null";
  Json tokens = "auto";
  if (width.mode != DraftWidth::Mode::kAuto)
    tokens = width.mode == DraftWidth::Mode::kOff ? 0 : width.tokens;
  const Json json = {{"kind", drafter->kind()},
                     {"draft_tokens", tokens},
                     {"rounds", stats.rounds},
                     {"plain_rounds", stats.plain_rounds},
                     {"drafted", stats.drafted},
                     {"accepted", stats.accepted},
                     {"mean_accepted", stats.mean_accepted()},
                     {"tokens_per_round", stats.tokens_per_round(generated)},
                     {"acceptance_by_position", stats.acceptance_by_position()},
                     {"draft_s", stats.draft_s},
                     {"verify_s", stats.verify_s},
                     {"decision", stats.decision}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace spindrift
