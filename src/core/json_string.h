#pragma once

#include <string>
#include <string_view>

namespace spindrift {

// Appends `text` as a JSON string, quotes included; bytes from 0x80 on are taken as UTF-8.
void append_json_string(std::string_view text, std::string& out);

}  // namespace spindrift
