#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace spindrift {

struct ZipEntry {
  std::string_view name;  // inside the file's bytes
  int64_t begin, end;     // data, bytes of the file, half open
  uint32_t crc32;         // as the directory says; not compared with the data
};

// Reads the directory of a zip file whose entries are stored, not compressed, and returns them with
// names ascending. Only headers are touched. `file` is the whole file, `file_name` starts every
// message. Source: the format's specification, APPNOTE 6.3.
//
// The central directory rules, and everything else must agree with it, so that two readers cannot
// see two contents: the end record is the last 22 bytes (no comment, nothing behind it); zip64
// records, when present, say the same; the directory ends where the end records begin; the entries
// lie one behind the other from the first byte of the file to the directory, each with a local
// header of the same name, flags and method, its data, and a data descriptor that agrees when flag
// bit 3 announces one. Names are distinct relative paths in UTF-8 without `.`, `..` or empty parts,
// backslashes and control characters.
//
// kUnsupported by name: compression, encryption, flags other than bits 3 and 11, several disks,
// comments, extra fields other than zip64 and, in local headers, PyTorch's padding `FB`. kCorrupt
// or kInvalid otherwise.
Result<std::vector<ZipEntry>> read_stored_zip(std::span<const std::byte> file,
                                              std::string_view file_name);

}  // namespace spindrift
