#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace spindrift {

// The `*.index.json` beside sharded weights: which file of the same folder holds which tensor.
struct ShardIndex {
  std::vector<std::string> files;  // file names, ascending, each once
  std::vector<std::pair<std::string, uint32_t>>
      tensors;  // (tensor, position in `files`), names ascending
};

inline constexpr int64_t kMaxShardIndexBytes = 64 * 1024 * 1024;
inline constexpr size_t kMaxShards = 4096;

// Reads `weight_map` ({"tensor": "file"}); other keys are ignored. A file must be a plain name that
// ends in `suffix`
// (".safetensors"): anything with a path separator, "..", a control character or an absolute path
// is kInvalid. So are a tensor named twice and an empty map.
Result<ShardIndex> parse_shard_index(std::string_view json, std::string_view file_name,
                                     std::string_view suffix);
Result<ShardIndex> read_shard_index(const std::filesystem::path& path, std::string_view suffix);

}  // namespace spindrift
