#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spindrift {

// Text in the form "`text`", fit for a one-line message: control characters and invalid UTF-8
// escaped, cut after `max_bytes`.
std::string quoted_for_message(std::string_view text, size_t max_bytes = 80);

}  // namespace spindrift
