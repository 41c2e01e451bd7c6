#pragma once

#include <string_view>

namespace spindrift {

// What was built. Lives in a library of its own (spindrift_build_info), since its object changes
// with every commit.
struct BuildInfo {
  std::string_view version;   // the project's, for example "0.1.0"
  std::string_view commit;    // "1a2b3c4d5e6f", "-dirty" appended for a changed tree; "unknown"
                              // outside a git checkout
  std::string_view compiler;  // "GNU 12.2.0"
  std::string_view flags;     // build type and its flags, sanitizers included
};

BuildInfo build_info();

}  // namespace spindrift
