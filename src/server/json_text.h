#pragma once

#include <string>

namespace spindrift::server {

// A JSON value of nlohmann's as compact text; what is no UTF-8 becomes U+FFFD.
template <class Json>
std::string json_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace spindrift::server
