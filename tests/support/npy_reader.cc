#include "support/npy_reader.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <regex>
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

  std::smatch descr, shape;
  if (!std::regex_search(header, descr, std::regex("'descr': '([^']*)'")) ||
      !std::regex_search(header, shape, std::regex("'shape': \\(([0-9, ]*)\\)")) ||
      header.find("'fortran_order': False") == std::string::npos)
    return fail("unknown header " + header);
  NpyArray array{DType::kF32, {}, {}};
  size_t count = 1;
  const std::string extents = shape[1];
  const std::regex digits("[0-9]+");
  for (std::sregex_iterator at(extents.begin(), extents.end(), digits), end; at != end; ++at) {
    array.shape.push_back(std::stoll(at->str()));
    count *= static_cast<size_t>(array.shape.back());
  }
  if (descr[1] == "<f4")
    array.dtype = DType::kF32;
  else if (descr[1] == "<i4")
    array.dtype = DType::kI32;
  else if (descr[1] == "<i8")
    array.dtype = DType::kI64;
  else
    return fail("type " + descr[1].str());
  const char* data = file.data() + data_begin;
  if ((file.size() - data_begin) != count * static_cast<size_t>(dtype_bytes(array.dtype)))
    return fail("length of data");
  array.values = array.dtype == DType::kF32   ? as_floats<float>(data, count)
                 : array.dtype == DType::kI32 ? as_floats<int32_t>(data, count)
                                              : as_floats<int64_t>(data, count);
  return array;
}

}  // namespace spindrift::testing
