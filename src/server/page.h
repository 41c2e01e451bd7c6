#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spindrift::server {

// The files of src/server/page/, in the program.
std::string_view page_html();
std::string_view page_css();
std::string_view page_js();
// A policy that lets the page load its own two files, talk to this server, and nothing else.
std::vector<std::pair<std::string, std::string>> page_headers();

}  // namespace spindrift::server
