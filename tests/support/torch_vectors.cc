#include "support/torch_vectors.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/shared_dir.h"

namespace spindrift::testing {
namespace {

std::string hex_bytes(const std::string& digits) {
  std::string bytes;
  if (digits == "-") return bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

std::vector<int64_t> shape_of(const std::string& text) {
  std::vector<int64_t> shape;
  if (text == "-") return shape;
  std::istringstream sizes(text);
  for (std::string size; std::getline(sizes, size, 'x');) shape.push_back(std::stoll(size));
  return shape;
}

}  // namespace

std::filesystem::path torch_bin_dir() { return repo_dir() / "tests" / "golden" / "torch_bin"; }

std::vector<TorchVectorFile> torch_vectors(const std::filesystem::path& folder) {
  std::ifstream list(folder / "expected.txt");
  EXPECT_TRUE(list.good()) << folder;
  std::vector<TorchVectorFile> files;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    std::string file, shape, crc, first, last;
    TorchVector tensor{};
    words >> file >> tensor.name >> tensor.dtype >> shape >> crc >> first >> last;
    if (files.empty() || files.back().file != file) files.push_back({file, {}});
    if (tensor.name.empty()) continue;  // a file without tensors
    tensor.shape = shape_of(shape);
    tensor.crc32 = static_cast<uint32_t>(std::stoul(crc, nullptr, 16));
    tensor.first = hex_bytes(first);
    tensor.last = hex_bytes(last);
    files.back().tensors.push_back(std::move(tensor));
  }
  return files;
}

}  // namespace spindrift::testing
