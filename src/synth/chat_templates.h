#pragma once

#include <string_view>

namespace spindrift::synth {

// The templates that the demo models ship, built in from there.
extern const std::string_view kLagunaChatTemplate;
extern const std::string_view kGraniteChatTemplate;

}  // namespace spindrift::synth
