// Any text as a shard index: an index that is accepted names files of its own folder only.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "io/shard_index.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spindrift;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<ShardIndex> index = parse_shard_index(text, "fuzz", ".safetensors");
  if (!index.ok()) {
    SPINDRIFT_CHECK(index.error().message.find('\n') == std::string::npos, "an error is one line");
    return 0;
  }
  for (const std::string& file : index.value().files)
    SPINDRIFT_CHECK(file.find('/') == std::string::npos && file.ends_with(".safetensors"),
                    "a plain file name");
  for (const auto& [tensor, file] : index.value().tensors)
    SPINDRIFT_CHECK(file < index.value().files.size(), "a tensor's file is listed");
  return 0;
}
