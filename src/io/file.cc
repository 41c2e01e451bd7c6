#include "io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace spindrift {
namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

Error system_error(const std::filesystem::path& path, const char* what, int code) {
  struct stat st {};
  if (code == ENOENT && ::lstat(path.c_str(), &st) == 0)
    return {ErrorCode::kNotFound, path.string() + ": expected a file, found a link to none",
            "the download is incomplete; run it again"};
  const bool absent = code == ENOENT || code == ENOTDIR;
  return {absent ? ErrorCode::kNotFound : ErrorCode::kIo,
          path.string() + ": " + what + ": " + std::strerror(code)};
}

Error not_regular(const std::filesystem::path& path, mode_t mode) {
  return {ErrorCode::kInvalid, path.string() + ": expected a regular file, found " + kind_of(mode)};
}

}  // namespace

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}

Result<RegularFile> open_regular_file(const std::filesystem::path& path) {
  struct stat st {};
  // Looked at before opening too: opening some devices has side effects.
  if (::stat(path.c_str(), &st) != 0) return system_error(path, "cannot be opened", errno);
  if (!S_ISREG(st.st_mode)) return not_regular(path, st.st_mode);
  // O_NONBLOCK: should a FIFO have taken the file's place since, opening it must not wait for a
  // writer.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return system_error(path, "cannot be opened", errno);
  RegularFile file{FileHandle(fd), 0};
  if (::fstat(fd, &st) != 0) return system_error(path, "cannot be examined", errno);
  if (!S_ISREG(st.st_mode)) return not_regular(path, st.st_mode);
  file.bytes = static_cast<int64_t>(st.st_size);
  return file;
}

Result<std::string> read_file(const std::filesystem::path& path, int64_t max_bytes) {
  SPINDRIFT_TRY(RegularFile file, open_regular_file(path));
  const auto too_large = [&](int64_t bytes) {
    return Error{ErrorCode::kLimit, path.string() + ": expected at most " +
                                        std::to_string(max_bytes) + " bytes, found " +
                                        std::to_string(bytes)};
  };
  if (file.bytes > max_bytes) return too_large(file.bytes);
  std::string content(static_cast<size_t>(file.bytes), '\0');
  size_t filled = 0;
  while (true) {
    // Files under /proc say that they are empty, and any file may grow while it is read.
    if (filled == content.size()) {
      if (static_cast<int64_t>(filled) > max_bytes) return too_large(static_cast<int64_t>(filled));
      content.resize(filled + std::max<size_t>(1, std::min<size_t>(filled / 2, 65536)));
    }
    const ssize_t got = ::read(file.handle.fd(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, "cannot be read", errno);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  if (static_cast<int64_t>(filled) > max_bytes) return too_large(static_cast<int64_t>(filled));
  content.resize(filled);
  return content;
}

}  // namespace spindrift
