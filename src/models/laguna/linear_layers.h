#pragma once

#include <string>
#include <vector>

#include "models/laguna/config.h"
#include "models/laguna/names.h"
#include "nn/quantization_claims.h"

namespace spindrift::laguna {

// Every linear layer that the config asks for, or the tensors that stack them, plain stacks without
// a leaf left out. What is stored in two layouts at once is named in `problems`.
std::vector<nn::LinearLayer> linear_layers(const Names& names, const Config& config,
                                           std::vector<std::string>& problems);

}  // namespace spindrift::laguna
