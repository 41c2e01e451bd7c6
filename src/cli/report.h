#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/assemble.h"
#include "cli/terminal.h"
#include "core/types.h"
#include "engine/draft_width.h"
#include "engine/request.h"

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

// The lines at the end of stderr: prompt and generation rates, why the text ends, and with a
// drafter rounds, tokens per round, mean accepted and acceptance by position.
std::string report_text(const Outcome& outcome, bool with_drafter);

// One JSON object a line, after the text.
void print_tool_calls(const Answer& answer, Terminal& out);

}  // namespace spindrift::cli
