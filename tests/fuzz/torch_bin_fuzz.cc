// Any bytes as a PyTorch file, as they are and with the checksums of a zip put right: what is
// accepted lies inside the file and is as long as its shape says.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "io/crc32.h"
#include "io/little_endian.h"
#include "io/torch_bin.h"

namespace {

using spindrift::little_endian;

void check(std::span<const std::byte> file) {
  const auto tensors = spindrift::parse_torch_bin(file, "fuzz");
  if (!tensors.ok()) {
    SPINDRIFT_CHECK(tensors.error().message.find('\n') == std::string::npos,
                    "an error is one line");
    SPINDRIFT_CHECK(tensors.error().message.size() < 1500, "an error is short");
    return;
  }
  const std::string* previous = nullptr;
  for (const spindrift::TorchTensor& tensor : tensors.value()) {
    int64_t bytes = dtype_bytes(tensor.dtype);
    for (const int64_t extent : tensor.shape) {
      SPINDRIFT_CHECK(extent >= 0, "sizes are not negative");
      bytes *= extent;
    }
    SPINDRIFT_CHECK(bytes == tensor.end - tensor.begin, "bytes are shape x dtype");
    SPINDRIFT_CHECK(tensor.begin >= 0 && tensor.end <= static_cast<int64_t>(file.size()),
                    "a tensor lies in the file");
    SPINDRIFT_CHECK(previous == nullptr || *previous < tensor.name,
                    "names are distinct and ascending");
    previous = &tensor.name;
  }
}

// Writes the checksum of its data into each directory entry that is intact enough, into its local
// header where that has one, and into its data descriptor. Without this, every change of a record
// would end at the checksum.
void repair_checksums(std::vector<std::byte>& file) {
  constexpr uint32_t kCentralMagic = 0x02014B50, kLocalMagic = 0x04034B50,
                     kDescriptorMagic = 0x08074B50;
  const auto put = [&](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) file[at + i] = static_cast<std::byte>(value >> (8 * i));
  };
  for (size_t at = 0; at + 46 <= file.size(); ++at) {
    if (little_endian<uint32_t>(file, at) != kCentralMagic) continue;
    const uint64_t size = little_endian<uint32_t>(file, at + 24);
    const uint64_t local = little_endian<uint32_t>(file, at + 42);
    if (local + 30 > file.size() || little_endian<uint32_t>(file, local) != kLocalMagic) continue;
    const uint64_t begin = local + 30 + little_endian<uint16_t>(file, local + 26) +
                           little_endian<uint16_t>(file, local + 28);
    if (begin + size > file.size()) continue;
    const uint32_t crc = spindrift::crc32(std::span(file).subspan(begin, size));
    put(at + 16, crc);
    if (little_endian<uint32_t>(file, local + 14) != 0) put(local + 14, crc);
    const uint64_t end = begin + size;
    if (end + 8 <= file.size() && little_endian<uint32_t>(file, end) == kDescriptorMagic)
      put(end + 4, crc);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes);
  std::vector<std::byte> repaired(bytes.begin(), bytes.end());
  repair_checksums(repaired);
  check(repaired);
  return 0;
}
