#include "support/npy_reader.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace spindrift::testing {
namespace {

template <class T>
std::vector<float> as_floats(const char* bytes, size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
    out[i] = static_cast<float>(element);
  }
  return out;
}

// What lies between `before` and the next `after`; empty when there is no such place.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t begin = text.find(before);
  if (begin == std::string::npos) return "";
  const size_t first = begin + before.size();
  return text.substr(first, text.find(after, first) - first);
}

}  // namespace

Result<NpyArray> read_npy(const std::filesystem::path& path) {
  const auto fail = [&](const std::string& what) {
    return Error{ErrorCode::kInvalid, path.string() + ": " + what};
  };
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail("cannot be opened");
  const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (file.size() < 12 || file.compare(0, 6, "\x93NUMPY") != 0) return fail("no NumPy file");
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(file[i]));
  };
  const size_t length_bytes = byte(6) == 1 ? 2 : 4;
  size_t header_bytes = 0;
  for (size_t i = length_bytes; i-- > 0;) header_bytes = header_bytes << 8 | byte(8 + i);
  const size_t data_begin = 8 + length_bytes + header_bytes;
  if (data_begin > file.size()) return fail("header longer than the file");
  const std::string header = file.substr(8 + length_bytes, header_bytes);

  const std::string descr = between(header, "'descr': '", "'");
  NpyArray array{DType::kF32, {}, {}};
  if (descr == "<i4") {
    array.dtype = DType::kI32;
  } else if (descr == "<i8") {
    array.dtype = DType::kI64;
  } else if (descr != "<f4") {
    return fail("unknown type in " + header);
  }
  if (header.find("'fortran_order': False") == std::string::npos)
    return fail("no C order in " + header);
  size_t count = 1;
  std::istringstream extents(between(header, "'shape': (", ")"));
  for (std::string extent; std::getline(extents, extent, ',');) {
    if (extent.find_first_of("0123456789") == std::string::npos)
      continue;  // behind the comma of (5,)
    array.shape.push_back(std::stoll(extent));
    count *= static_cast<size_t>(array.shape.back());
  }
  const char* data = file.data() + data_begin;
  if ((file.size() - data_begin) != count * static_cast<size_t>(dtype_bytes(array.dtype)))
    return fail("length of data");
  array.values = array.dtype == DType::kF32   ? as_floats<float>(data, count)
                 : array.dtype == DType::kI32 ? as_floats<int32_t>(data, count)
                                              : as_floats<int64_t>(data, count);
  return array;
}

}  // namespace spindrift::testing
