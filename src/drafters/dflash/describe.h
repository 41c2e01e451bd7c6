#pragma once

#include <string>
#include <vector>

#include "drafters/dflash/config.h"
#include "io/checkpoint_summary.h"
#include "io/weight_store.h"

// What a drafter's config and headers say, without reading weights.
namespace spindrift::dflash {

ConfigSummary summarise(const Config& config);
// The stored tensors by module and format, in the order of a forward.
std::vector<ModuleGroup> module_groups(WeightStore& store);
// Tensors that are missing, of another size, unknown, or in no known format.
std::vector<std::string> find_problems(WeightStore& store, const Config& config);

}  // namespace spindrift::dflash
