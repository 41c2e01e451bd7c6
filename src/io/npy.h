#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/result.h"

namespace spindrift {

// The header of a NumPy file, version 1.0: magic, length, and a Python dict that describes a
// C-ordered little-endian array. Its size is a multiple of 64, so the data behind it is aligned.
// dtype: kF32, kI32 or kI64. Source: numpy.lib.format.
std::string npy_header(DType dtype, std::span<const int64_t> shape);

// Writes a NumPy file piece by piece, in C order, so that an array larger than memory can be
// written.
class NpyWriter {
 public:
  static Result<NpyWriter> create(const std::filesystem::path& path, DType dtype,
                                  std::vector<int64_t> shape);

  // Appends elements. Their type must be the file's dtype, and all of them together must fit the
  // shape.
  Status write(std::span<const float> elements);
  Status write(std::span<const int32_t> elements);
  Status write(std::span<const int64_t> elements);
  // Closes the file; every element must have been written. Without this call the file stays
  // incomplete.
  Status finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  NpyWriter(std::unique_ptr<std::FILE, Close> file, std::string path, DType dtype, int64_t elements)
      : file_(std::move(file)), path_(std::move(path)), dtype_(dtype), elements_left_(elements) {}
  Status append(DType dtype, const void* data, size_t elements);

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
  DType dtype_;
  int64_t elements_left_;
};

}  // namespace spindrift
