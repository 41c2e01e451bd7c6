// Any bytes as a safetensors file: a header that is accepted describes tensors that cover the data
// exactly.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/check.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spindrift;
  const Result<SafetensorsHeader> header =
      parse_safetensors_header(std::as_bytes(std::span(data, size)), "fuzz");
  if (!header.ok()) {
    SPINDRIFT_CHECK(header.error().message.find('\n') == std::string::npos, "an error is one line");
    SPINDRIFT_CHECK(header.error().message.size() < 1000, "an error is short");
    return 0;
  }
  int64_t covered = header.value().data_begin;
  std::string_view previous;
  bool first = true;
  for (const SafetensorsTensor& tensor : header.value().tensors) {
    int64_t bytes = dtype_bytes(tensor.dtype);
    for (const int64_t extent : tensor.shape) bytes *= extent;
    SPINDRIFT_CHECK(bytes == tensor.end - tensor.begin, "bytes are shape x dtype");
    SPINDRIFT_CHECK(
        tensor.begin >= header.value().data_begin && tensor.end <= static_cast<int64_t>(size),
        "a tensor lies in the data");
    SPINDRIFT_CHECK(first || previous < tensor.name, "names are distinct and ascending");
    covered += bytes;
    previous = tensor.name;
    first = false;
  }
  SPINDRIFT_CHECK(covered == static_cast<int64_t>(size), "the tensors cover the data");
  return 0;
}
