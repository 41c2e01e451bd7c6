#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/assemble.h"
#include "core/types.h"
#include "engine/draft_width.h"
#include "engine/request.h"
#include "engine/stats.h"

namespace spindrift::cli {

// What `generate --json` prints, beside the outcome itself.
struct Answer {
  std::string text;                      // content
  std::optional<std::string> reasoning;  // nullopt when the model did not reason
  std::string tool_calls_json = "[]";
};

struct RunFacts {
  std::vector<TokenId> prompt_ids;
  DraftWidth draft;  // as used
};

// cli-contract's object, one line.
std::string report_json(const Assembly& assembly, const RunFacts& facts, const Outcome& outcome,
                        const Answer& answer);

// The lines at the end of stderr: prompt and generation rates, and with a drafter rounds, tokens
// per round, mean accepted and acceptance by position.
std::string report_text(const GenerationStats& stats, bool with_drafter);

}  // namespace spindrift::cli
