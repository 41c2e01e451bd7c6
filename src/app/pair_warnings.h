#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/stats.h"

namespace spindrift {

// The words of a model's name that say in which precision its weights are published ("INT4",
// "nvfp4", "4bit"), in lower case, joined by blanks; empty when it has none.
std::string precision_words(std::string_view model);

// A warning for a drafter of a target whose residual stream is rotated: hidden states of such a
// target mean nothing to a drafter that was made for other weights. Configs do not say for which
// weights a drafter was made, so names decide; nullopt when both name the same precision.
std::optional<std::string> rotated_pair_warning(std::string_view target, std::string_view drafter);

// A warning for a drafter of the right shape whose drafts hardly ever hit, as if it had been made
// for another target; nullopt while too few rounds have drafted to tell.
std::optional<std::string> unlikely_pair_warning(std::string_view target, std::string_view drafter,
                                                 const DraftStats& stats);

}  // namespace spindrift
