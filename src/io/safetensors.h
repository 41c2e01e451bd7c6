#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace spindrift {

struct SafetensorsTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  int64_t begin, end;  // bytes of the file, half open
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;                     // names ascending
  std::vector<std::pair<std::string, std::string>> metadata;  // `__metadata__`, in file order
  int64_t data_begin = 0;  // first byte after the header; may be any number, odd ones included
};

// Longest header that is read; the format's own implementation has the same limit.
inline constexpr int64_t kMaxSafetensorsHeaderBytes = 100'000'000;

// Reads the header of a safetensors file: uint64 little-endian length, that many bytes of JSON,
// then the data. `file` is the whole file (only the header is touched), `file_name` appears in
// errors. Every rule of the format is checked: UTF-8 JSON object that starts with `{`;
// `__metadata__` maps strings to strings; each tensor has exactly dtype, shape and data_offsets;
// the dtype is known; the shape is non-negative integers; the offsets are ordered, inside the data
// and as long as shape x dtype; each name occurs once; tensors neither overlap nor leave a hole,
// and they cover the data to the last byte. kInvalid or kCorrupt when one is broken, kUnsupported
// for element types of the format that no loader knows, kLimit for an oversized header. Source: the
// format description at huggingface/safetensors.
Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> file,
                                                   std::string_view file_name);

}  // namespace spindrift
