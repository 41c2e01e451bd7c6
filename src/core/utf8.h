#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spindrift {

// What starts at bytes[pos] of arbitrary bytes. kInvalid: `bytes` is the maximal subpart that one
// U+FFFD replaces (Unicode 16.0, section 3.9). kIncomplete: the text ends inside a sequence that is
// well formed so far.
struct Utf8Unit {
  enum class Kind : uint8_t { kValid, kInvalid, kIncomplete } kind = Kind::kValid;
  size_t bytes = 0;
};
Utf8Unit utf8_unit_at(std::string_view bytes, size_t pos);

// True when all of `bytes` is well-formed UTF-8: no overlong forms, no surrogates.
bool valid_utf8(std::string_view bytes);

}  // namespace spindrift
