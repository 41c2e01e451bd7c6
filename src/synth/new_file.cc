#include "synth/new_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace spindrift::synth {
namespace {

Error io_error(const std::string& name, const char* what) {
  return {ErrorCode::kIo, name + ": expected to " + what + ", found: " + std::strerror(errno)};
}

}  // namespace

Result<NewFile> NewFile::create(const std::filesystem::path& path, int64_t bytes) {
  constexpr mode_t kMode = 0644;
  FileHandle handle(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (handle.fd() < 0) return io_error(path.string(), "make it");
  if (::ftruncate(handle.fd(), bytes) != 0) return io_error(path.string(), "set its size");
  return NewFile(std::move(handle), path.string());
}

Status NewFile::write(int64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(handle_.fd(), bytes.data(), bytes.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return io_error(name_, "write it");
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += count;
  }
  return ok_status();
}

Status NewFile::write(int64_t offset, std::string_view text) const {
  return write(offset, std::as_bytes(std::span(text.data(), text.size())));
}

Status check_free_space(const std::filesystem::path& folder, int64_t bytes) {
  std::error_code failure;
  const std::filesystem::space_info space = std::filesystem::space(folder, failure);
  if (failure || space.available >= static_cast<uint64_t>(bytes)) return ok_status();
  return Error{ErrorCode::kIo,
               folder.string() + ": expected " + std::to_string(bytes) + " free bytes, found " +
                   std::to_string(space.available),
               "--layers makes a slice, --sparse leaves the data out"};
}

}  // namespace spindrift::synth
