#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tokenizer/bpe.h"
#include "tokenizer/config_node.h"
#include "tokenizer/vocabulary.h"

namespace spindrift {

// tokenizer.json, with its two big tables out of the tree: `root` has everything but model.vocab
// and model.merges.
struct TokenizerFile {
  ConfigNode root;
  Vocabulary vocabulary;
  std::vector<MergeRule> merges;  // in file order
};

// Reads and validates the file (at most 1 GiB). A merge may be "left right" or ["left", "right"];
// both and their result must be in the vocabulary. Errors name the file and the key.
Result<TokenizerFile> read_tokenizer_file(const std::filesystem::path& path);
// The same from memory; `name` stands for the file in errors.
Result<TokenizerFile> parse_tokenizer_file(std::string_view json, const std::string& name);

}  // namespace spindrift
