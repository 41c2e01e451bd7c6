#pragma once

#include <vector>

#include "synth/checkpoint_plan.h"

namespace spindrift::synth {

// Tokenizer and chat template for made-up targets: the published ids of special tokens and bytes,
// the published splitting rules and number of tokens, and merges that nobody trained (pairs and
// fours of letters), so that text goes in and out, about as long as with the real vocabulary.
std::vector<TextFile> laguna_tokenizer_files();
std::vector<TextFile> granite_tokenizer_files();

}  // namespace spindrift::synth
