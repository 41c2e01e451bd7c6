#include "io/checkpoint_summary.h"

namespace spindrift {

std::vector<ModuleGroup> list_groups(ModuleGroupMap groups,
                                     std::span<const std::string_view> module_names) {
  std::vector<ModuleGroup> out;
  for (auto& [key, group] : groups) {
    group.module = module_names[key.first];
    group.format = key.second;
    out.push_back(std::move(group));
  }
  return out;
}

}  // namespace spindrift
