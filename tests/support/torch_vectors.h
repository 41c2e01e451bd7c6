#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace spindrift::testing {

// One line of an expected.txt under tests/golden/torch_bin.
struct TorchVector {
  std::string name, dtype;
  std::vector<int64_t> shape;
  uint32_t crc32;
  std::string first, last;  // bytes of the first and last element; empty when there is none
};

struct TorchVectorFile {
  std::string file;  // as the list spells it
  std::vector<TorchVector> tensors;
};

std::filesystem::path torch_bin_dir();  // tests/golden/torch_bin

// Every file of FOLDER/expected.txt with its tensors, names ascending.
std::vector<TorchVectorFile> torch_vectors(const std::filesystem::path& folder);

}  // namespace spindrift::testing
