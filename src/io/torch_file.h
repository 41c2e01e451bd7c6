#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "io/pickle.h"

namespace spindrift {

// Bytes of a file, half open.
struct ByteRange {
  int64_t begin, end;
};

// A file written by torch.save, taken apart: its main pickle and where the bytes of each of
// `pickle.storages` are, in the same order. Each range has exactly elements x element size bytes.
struct TorchFile {
  Pickle pickle;
  std::vector<ByteRange> storages;
};

// Data of larger zip files is not compared with its checksums, so that opening one reads no
// weights; everything else in them is.
inline constexpr int64_t kMaxCheckedFileBytes = 64 * 1024 * 1024;

// The zip form (torch 1.6 and later): one top folder of any name with `data.pkl`, `version`
// (1 to 10), `data/N` for each storage and, optionally, `byteorder` (`little`) and names that start
// with a dot. Any other record is kUnsupported by name; a data record that no storage uses, or
// whose bytes do not fit its storage, is kCorrupt. Checksums are compared as said above.
Result<TorchFile> read_torch_zip(std::span<const std::byte> file, std::string_view file_name);

// The form before it: pickles of a magic number, the protocol version 1001, the writer's system,
// the object and the list of storage keys, then for each key its element count (int64) and its
// bytes, to the end of the file. There are no checksums.
Result<TorchFile> read_torch_legacy(std::span<const std::byte> file, std::string_view file_name);
bool is_torch_legacy(std::span<const std::byte> file);  // by the magic number

}  // namespace spindrift
