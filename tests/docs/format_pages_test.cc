// Runs the worked examples of docs/formats: tensors from the `hex` blocks of a page, read back as a
// linear layer, must have the rows of the `values` block that follows them.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "io/weight_store.h"
#include "nn/linear.h"
#include "support/safetensors_builder.h"
#include "support/shared_dir.h"
#include "support/temp_dir.h"

namespace spindrift {
namespace {

struct Block {
  std::string info;  // what follows the opening fence
  std::vector<std::string> lines;
};

std::vector<Block> fenced_blocks(const std::filesystem::path& page) {
  std::ifstream file(page);
  EXPECT_TRUE(file.good()) << page;
  std::vector<Block> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
      if (inside) blocks.push_back({.info = line.substr(3), .lines = {}});
    } else if (inside) {
      blocks.back().lines.push_back(line);
    }
  }
  return blocks;
}

// Words of a line; `word*3` stands for three of them.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    const size_t star = std::min(word.find('*'), word.size());
    const int count = star == word.size() ? 1 : std::stoi(word.substr(star + 1));
    words.insert(words.end(), static_cast<size_t>(count), word.substr(0, star));
  }
  return words;
}

// The bytes before the `|` of each line.
std::string hex_bytes(const Block& block) {
  std::string bytes;
  for (const std::string& line : block.lines) {
    for (const std::string& word : words_of(line.substr(0, line.find('|'))))
      bytes += static_cast<char>(std::stoi(word, nullptr, 16));
  }
  return bytes;
}

std::vector<std::vector<float>> value_rows(const Block& block) {
  std::vector<std::vector<float>> rows;
  for (const std::string& line : block.lines) {
    rows.emplace_back();
    for (const std::string& word : words_of(line)) rows.back().push_back(std::stof(word));
  }
  return rows;
}

// "[2, 8]" as {2, 8}.
std::vector<int64_t> shape_of(const std::string& text) {
  std::vector<int64_t> shape;
  std::istringstream words(text);
  for (char skipped = 0; words >> skipped;) {
    if (int64_t size = 0; words >> size) shape.push_back(size);
  }
  return shape;
}

// Adds a block "hex NAME DTYPE SHAPE" to the layer named `layer`.
void add_tensor(const Block& block, testing::SafetensorsBuilder& builder) {
  std::istringstream info(block.info);
  std::string hex, name, dtype, shape;
  info >> hex >> name >> dtype;
  std::getline(info, shape);
  builder.add("layer." + name, dtype, shape_of(shape), hex_bytes(block));
}

// A layer as the blocks of a page up to one of `values` store it, and those values.
struct Example {
  testing::SafetensorsBuilder tensors;
  std::string whole_file, file_name = "model.safetensors";
  std::vector<std::vector<float>> values;
};

std::vector<Example> examples_of(const std::filesystem::path& page) {
  std::vector<Example> examples;
  Example next;
  for (const Block& block : fenced_blocks(page)) {
    if (block.info.starts_with("hex file")) {
      next.whole_file = hex_bytes(block);
      if (const size_t name = block.info.find(' ', 4); name != std::string::npos)
        next.file_name = block.info.substr(name + 1);
    } else if (block.info.starts_with("hex ")) {
      add_tensor(block, next.tensors);
    } else if (block.info == "values") {
      next.values = value_rows(block);
      examples.push_back(std::exchange(next, {}));
    }
  }
  return examples;
}

void expect_holds(const Example& example) {
  const testing::TempDir folder;
  folder.write(example.file_name,
               example.whole_file.empty() ? example.tensors.file() : example.whole_file);
  const auto store = open_weights(folder.path());
  ASSERT_TRUE(store.ok()) << store.error().message;
  const WeightScope scope{store.value().get(), "layer"};
  const auto linear =
      nn::load_linear(scope, std::ssize(example.values), std::ssize(example.values.front()));
  ASSERT_TRUE(linear.ok()) << linear.error().message;
  for (size_t row = 0; row < example.values.size(); ++row) {
    std::vector<float> found(example.values[row].size());
    linear.value()->read_row(static_cast<int64_t>(row), found);
    EXPECT_EQ(found, example.values[row]) << "row " << row;
  }
  EXPECT_TRUE(store.value()->unread().empty());
}

class FormatPage : public ::testing::TestWithParam<const char*> {};

TEST_P(FormatPage, ItsExamplesHoldTheValuesTheyShow) {
  const auto examples = examples_of(testing::repo_dir() / "docs" / "formats" / GetParam());
  ASSERT_FALSE(examples.empty());
  for (size_t i = 0; i < examples.size(); ++i) {
    SCOPED_TRACE("example " + std::to_string(i + 1));
    expect_holds(examples[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Docs, FormatPage,
                         ::testing::Values("safetensors.md", "nvfp4.md", "fp8-block.md",
                                           "pack-quantized.md", "mlx-affine.md", "torch-bin.md"),
                         [](const auto& page) {
                           std::string name = page.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace spindrift
