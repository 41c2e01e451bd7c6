#pragma once

#include <cstdint>
#include <string>

#include "drafters/drafter.h"
#include "engine/draft_width.h"
#include "engine/stats.h"

namespace spindrift {

// The object `draft` of `generate --json` and of the server's usage, as JSON text; "null" without a
// drafter (null). generated: tokens of the answers that `stats` counts.
std::string draft_report_json(const Drafter* drafter, const DraftWidth& width,
                              const DraftStats& stats, int64_t generated);

}  // namespace spindrift
