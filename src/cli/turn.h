#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "app/assemble.h"
#include "app/prompt.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "core/result.h"
#include "engine/engine.h"
#include "engine/request.h"

namespace spindrift::cli {

// One answer, from prompt to end: what `generate` does once and `chat` once a turn.
struct TurnOptions {
  Terminal* terminal = nullptr;  // null = nothing is streamed
  Progress* progress = nullptr;  // prefill progress; null = none
  bool show_reasoning = false;   // streamed dimmed before the answer
  bool split = true;             // off: reasoning and tool calls stay in the text (--raw)
  std::FILE* ledger = nullptr;   // a line a token
  std::FILE* trace = nullptr;    // a JSON line a round
  std::string tools_json;        // as the prompt was rendered with
};

struct Turn {
  Outcome outcome;
  Answer answer;
};

// Runs `request` (whose prompt is `prompt`) to its end. Listener and text decoder of the request
// are set here.
Result<Turn> run_turn(const Assembly& assembly, Engine& engine, Request request,
                      const Prompt& prompt, const TurnOptions& options);

}  // namespace spindrift::cli
