#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class Validator;
}

namespace spindrift::cli {

// What a flag's value has to be. Each says "expected X, found Y" when it is not.

// A whole number from `least` to `most`, digits and a sign only.
CLI::Validator whole_number(int64_t least, int64_t most);
// Any seed: the command line library's own conversion lets one wrap around.
CLI::Validator seed_number();
CLI::Validator real_number(double least, double most);
CLI::Validator positive_number();
CLI::Validator one_of(std::vector<std::string> choices);
// A count of bytes with an optional K, M, G or T (powers of 1024), as 4096, 512M or 1.5GiB; becomes
// the plain number.
CLI::Validator byte_count();

}  // namespace spindrift::cli
