#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spindrift {

// The noun for `count` of them: "token" for one, else "tokens".
inline std::string plural(int64_t count, std::string_view noun) {
  return std::string(noun) + (count == 1 ? "" : "s");
}

// "1 token", "2 tokens".
inline std::string counted(int64_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + plural(count, noun);
}

}  // namespace spindrift
