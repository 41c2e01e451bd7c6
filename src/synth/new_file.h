#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "io/file.h"

namespace spindrift::synth {

// A file that is made, of a size known from the start; what is never written stays a hole. Writes
// to different places may come from different threads.
class NewFile {
 public:
  // kIo when the file is there already or cannot be made.
  static Result<NewFile> create(const std::filesystem::path& path, int64_t bytes);

  Status write(int64_t offset, std::span<const std::byte> bytes) const;
  Status write(int64_t offset, std::string_view text) const;

 private:
  NewFile(FileHandle handle, std::string name)
      : handle_(std::move(handle)), name_(std::move(name)) {}

  FileHandle handle_;
  std::string name_;
};

// kIo when `folder` cannot hold that many more bytes.
Status check_free_space(const std::filesystem::path& folder, int64_t bytes);

}  // namespace spindrift::synth
