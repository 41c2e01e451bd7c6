#include "app/control_groups.h"

#include <fstream>
#include <string>

namespace spindrift {

namespace fs = std::filesystem;

std::vector<fs::path> control_groups(std::string_view controller) {
  std::vector<fs::path> out;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t colon = line.rfind(':');
    if (colon == std::string::npos) continue;
    const bool v2 = line.rfind("0::", 0) == 0;
    if (!v2 && line.find(controller) == std::string::npos) continue;
    for (fs::path group = line.substr(colon + 1);; group = group.parent_path()) {
      out.push_back(group.relative_path());
      if (!group.has_relative_path()) break;
    }
  }
  return out;
}

}  // namespace spindrift
