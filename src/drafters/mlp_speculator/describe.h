#pragma once

#include <string>
#include <vector>

#include "drafters/header_check.h"
#include "drafters/mlp_speculator/config.h"
#include "io/checkpoint_summary.h"
#include "io/weight_store.h"

// What a head's config and headers say, without reading weights.
namespace spindrift::mlp_speculator {

ConfigSummary summarise(const Config& config);
// The stored tensors by module and format; the bytes of a draft are those of one chain of all
// stages.
std::vector<ModuleGroup> module_groups(WeightStore& store, const Config& config);
// Asks for every tensor of the config: what is missing, of another size, unknown, or in no known
// format, and the linear layers.
HeaderCheck check_headers(WeightStore& store, const Config& config);

}  // namespace spindrift::mlp_speculator
