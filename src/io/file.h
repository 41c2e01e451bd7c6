#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace spindrift {

// An open file descriptor, closed on destruction.
class FileHandle {
 public:
  explicit FileHandle(int fd) : fd_(fd) {}
  ~FileHandle();
  FileHandle(FileHandle&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileHandle& operator=(FileHandle&&) = delete;
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;

  int fd() const { return fd_; }

 private:
  int fd_;
};

struct RegularFile {
  FileHandle handle;
  int64_t bytes;  // size when it was opened
};

// Opens a regular file for reading, symbolic links followed. Never waits: a FIFO, socket, device or
// folder is kInvalid. A missing file is kNotFound, anything else the system refuses is kIo.
Result<RegularFile> open_regular_file(const std::filesystem::path& path);

// The whole content of a regular file; kLimit when it holds more than `max_bytes`.
Result<std::string> read_file(const std::filesystem::path& path, int64_t max_bytes);

}  // namespace spindrift
