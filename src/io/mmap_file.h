#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/result.h"

namespace spindrift {

// A regular file mapped read-only and shared with every process that maps it. Bytes come in from
// disk when they are first touched, in large pages where system and file system have them for
// files. The file must not be shortened while it is mapped: reading past
// its new end kills the process, on any system.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // The whole file; empty for an empty file. The first byte is page aligned.
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::filesystem::path& path() const { return path_; }

  // Keeps the whole file in memory until it is unmapped; kLimit when the process may not lock that
  // much.
  Status lock() const;

  // Replaces the map by a private copy in large pages, at the same addresses; kLimit when there is
  // not enough memory for it. Reads of bytes() at the same time see the same content.
  Status copy_to_large_pages() const;

 private:
  MappedFile(std::filesystem::path path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  std::filesystem::path path_;
  const std::byte* data_;
  size_t size_;
};

}  // namespace spindrift
