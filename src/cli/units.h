#pragma once

#include <cstdint>
#include <string>

namespace spindrift::cli {

// "512 B", "1.4 KiB", "21.3 GiB".
std::string bytes_text(int64_t bytes);

}  // namespace spindrift::cli
