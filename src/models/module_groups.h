#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/weight_store.h"
#include "models/registry.h"

namespace spindrift {

// How a family sorts the tensors of a checkpoint for `inspect`, by name alone.
struct ModuleRules {
  std::span<const std::string_view> names;            // of the modules, in the order of a forward
  size_t unknown = 0;                                 // the module of what is no part of the model
  std::function<size_t(std::string_view)> module_of;  // index into names
  // Bytes of a group that decoding one token reads.
  std::function<int64_t(size_t module, int64_t bytes)> read_for_a_token;
  // Input columns of the linear layer that a tensor is part of, or 0: tells widths of codes apart.
  std::function<int64_t(std::string_view name)> columns_of = nullptr;
};

// Most problems that a description spells out.
inline constexpr size_t kMaxProblems = 20;

// Fills description.groups from its store, and problems with tensors of no module.
void group_tensors(const ModuleRules& rules, TargetDescription& description);

// Notes each of these linear layers that no tensors are there to be read as.
void find_missing(std::span<const WeightScope> layers, TargetDescription& description);

// Takes the part before the next '.' off the front of `name`.
std::string_view next_part(std::string_view& name);
bool is_number(std::string_view text);

}  // namespace spindrift
