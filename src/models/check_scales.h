#pragma once

#include <string>
#include <vector>

#include "io/weight_store.h"

namespace spindrift {

// Reads every block scale and offset of a checkpoint's quantised layers and every FP8 weight, and
// names the tensors that hold a number which is not finite, at most `limit` of them. Loading does
// not do this: it would read a share of the weights before the first token.
std::vector<std::string> check_quantised_numbers(WeightStore& store, size_t limit = 20);

}  // namespace spindrift
