#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace spindrift {

// Text in the form "`text`", fit for a one-line message: control characters and invalid UTF-8
// escaped, cut after `max_bytes`.
std::string quoted_for_message(std::string_view text, size_t max_bytes = 80);

// True when all of `text` is well-formed UTF-8: no overlong forms, no surrogates.
bool valid_utf8(std::string_view text);

}  // namespace spindrift
