#include "io/npy.h"

#include <cerrno>
#include <cstring>

#include "core/check.h"

namespace spindrift {
namespace {

constexpr size_t kPrefixBytes = 10;  // magic, version, uint16 header length
constexpr size_t kAlignment = 64;

const char* descr(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "<f4";
    case DType::kI32:
      return "<i4";
    case DType::kI64:
      return "<i8";
    default:
      check_failed("dtype", "no NumPy file is written in this type", __FILE__, __LINE__);
  }
}

Error write_error(const std::string& path) {
  return {ErrorCode::kIo, path + ": cannot be written: " + std::strerror(errno)};
}

}  // namespace

std::string npy_header(DType dtype, std::span<const int64_t> shape) {
  std::string dict = "{'descr': '";
  dict.append(descr(dtype)).append("', 'fortran_order': False, 'shape': (");
  // As Python prints a tuple: (), (2,), (2, 3).
  for (size_t i = 0; i < shape.size(); ++i)
    dict.append(i > 0 ? ", " : "").append(std::to_string(shape[i]));
  dict.append(shape.size() == 1 ? ",), }" : "), }");
  const size_t unpadded = kPrefixBytes + dict.size() + 1;
  dict.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ').push_back('\n');
  SPINDRIFT_CHECK(dict.size() <= 0xFFFF, "header too long for version 1.0");
  std::string out("\x93NUMPY\x01\0", 8);
  out.push_back(static_cast<char>(dict.size() & 0xFF));
  out.push_back(static_cast<char>(dict.size() >> 8));
  out.append(dict);
  return out;
}

Result<NpyWriter> NpyWriter::create(const std::filesystem::path& path, DType dtype,
                                    std::vector<int64_t> shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  const std::string header = npy_header(dtype, shape);
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) return write_error(path.string());
  if (std::fwrite(header.data(), 1, header.size(), file.get()) != header.size())
    return write_error(path.string());
  return NpyWriter(std::move(file), path.string(), dtype, elements);
}

Status NpyWriter::append(DType dtype, const void* data, size_t elements) {
  SPINDRIFT_CHECK(file_ != nullptr && dtype == dtype_,
                  "elements of the file's type, before finish()");
  SPINDRIFT_CHECK(static_cast<int64_t>(elements) <= elements_left_,
                  "more elements than the shape holds");
  if (elements == 0) return ok_status();
  const auto element_bytes = static_cast<size_t>(dtype_bytes(dtype));
  if (std::fwrite(data, element_bytes, elements, file_.get()) != elements)
    return write_error(path_);
  elements_left_ -= static_cast<int64_t>(elements);
  return ok_status();
}

Status NpyWriter::write(std::span<const float> elements) {
  return append(DType::kF32, elements.data(), elements.size());
}
Status NpyWriter::write(std::span<const int32_t> elements) {
  return append(DType::kI32, elements.data(), elements.size());
}
Status NpyWriter::write(std::span<const int64_t> elements) {
  return append(DType::kI64, elements.data(), elements.size());
}

Status NpyWriter::finish() {
  SPINDRIFT_CHECK(file_ != nullptr && elements_left_ == 0,
                  "every element written, finish() called once");
  if (std::fclose(file_.release()) != 0) return write_error(path_);
  return ok_status();
}

}  // namespace spindrift
