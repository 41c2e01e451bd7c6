#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace spindrift {

// The control groups that limit this process, from its own up to the root, as paths below where a
// hierarchy is mounted: those of version 2 and those that `controller` ("cpu", "memory") is part of
// in version 1.
std::vector<std::filesystem::path> control_groups(std::string_view controller);

}  // namespace spindrift
