#include "models/module_groups.h"

#include <algorithm>
#include <utility>

#include "nn/linear.h"

namespace spindrift {
bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view next_part(std::string_view& name) {
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string_view part = name.substr(0, dot);
  name.remove_prefix(std::min(dot + 1, name.size()));
  return part;
}

void group_tensors(const ModuleRules& rules, TargetDescription& description) {
  WeightStore& store = *description.store;
  ModuleGroupMap groups;
  for (const std::string_view name : store.names()) {
    const size_t module = rules.module_of(name);
    if (module == rules.unknown && description.problems.size() < kMaxProblems)
      description.problems.push_back(store.where() + ": tensor `" + std::string(name) +
                                     "`: not part of the model");
    const int64_t columns = rules.columns_of ? rules.columns_of(name) : 0;
    ModuleGroup& group = groups[{module, nn::tensor_format(store, name, columns)}];
    ++group.tensors;
    group.bytes += store.find(name)->own_bytes();
  }
  for (auto& [key, group] : groups)
    group.bytes_per_token = rules.read_for_a_token(key.first, group.bytes);
  description.groups = list_groups(std::move(groups), rules.names);
}

void find_missing(std::span<const WeightScope> layers, TargetDescription& description) {
  for (const WeightScope& scope : layers) {
    if (description.problems.size() >= kMaxProblems) return;
    if (nn::stored_format(scope).empty())
      description.problems.push_back(scope.store->where() + ": layer `" + scope.prefix +
                                     "`: missing, or in no known format");
  }
}

}  // namespace spindrift
