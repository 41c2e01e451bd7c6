#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace spindrift {

// The texts that chat templates see as bos_token, eos_token and so on.
struct SpecialTokens {
  std::optional<std::string> bos, eos, unk, sep, pad, cls, mask;
  std::vector<std::string> additional;
};

// From tokenizer_config.json and, for what that leaves out, special_tokens_map.json; a missing file
// is an empty one. A token is a string, {"content": "..."} or null. Other keys of both files are
// other readers' business.
Result<SpecialTokens> read_special_tokens(const std::filesystem::path& model_dir);

}  // namespace spindrift
