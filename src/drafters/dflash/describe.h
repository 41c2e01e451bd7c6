#pragma once

#include <string>
#include <vector>

#include "drafters/dflash/config.h"
#include "drafters/header_check.h"
#include "io/checkpoint_summary.h"
#include "io/weight_store.h"

// What a drafter's config and headers say, without reading weights.
namespace spindrift::dflash {

ConfigSummary summarise(const Config& config);
// The stored tensors by module and format, in the order of a forward.
std::vector<ModuleGroup> module_groups(WeightStore& store);
// Asks for every tensor of the config: what is missing, of another size, unknown, or in no known
// format, and the linear layers.
HeaderCheck check_headers(WeightStore& store, const Config& config);

}  // namespace spindrift::dflash
