#include "io/mmap_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/check.h"
#include "io/file.h"

namespace spindrift {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Moves a private copy of `bytes` bytes to where they are now. `at` is aligned to small pages.
bool replace_by_copy(const std::byte* at, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t length = rounded_up(bytes, page);
  const size_t room = length + kLargePage;
  void* map = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return false;
  auto* const first = static_cast<std::byte*>(map);
  // As far from the boundary of a large page as the original: only so can large pages move whole.
  const size_t skip =
      (reinterpret_cast<uintptr_t>(at) - reinterpret_cast<uintptr_t>(first)) % kLargePage;
  std::byte* const copy = first + skip;
  ::madvise(copy, length, MADV_HUGEPAGE);
  std::memcpy(copy, at, bytes);
  const bool moved = ::mprotect(copy, length, PROT_READ) == 0 &&
                     ::mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED,
                              const_cast<std::byte*>(at)) != MAP_FAILED;
  const int error = errno;
  if (skip > 0) ::munmap(first, skip);
  if (!moved) ::munmap(copy, length);
  if (skip < kLargePage) ::munmap(copy + length, kLargePage - skip);
  errno = error;
  return moved;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  SPINDRIFT_TRY(RegularFile file, open_regular_file(path));
  const auto size = static_cast<size_t>(file.bytes);
  const std::byte* data = nullptr;
  if (size > 0) {  // mmap refuses a length of zero
    void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.handle.fd(), 0);
    if (map == MAP_FAILED)
      return Error{ErrorCode::kIo, path.string() + ": cannot be mapped: " + std::strerror(errno)};
    // Best effort. Fewer pages are fewer misses of the address translation, and reads of more than
    // a few kilobytes at once from a disk.
    if (size >= kLargePage) ::madvise(map, size, MADV_HUGEPAGE);
    data = static_cast<const std::byte*>(map);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Status MappedFile::lock() const {
  if (size_ == 0 || ::mlock(data_, size_) == 0) return ok_status();
  return Error{ErrorCode::kLimit,
               path_.string() + ": " + std::to_string(size_) +
                   " bytes cannot be locked in memory: " + std::strerror(errno),
               "raise the limit on locked memory (ulimit -l)"};
}

Status MappedFile::copy_to_large_pages() const {
  // In parts, so that never much more is held than file and copy, ended at whole large pages.
  constexpr size_t kPart = 32 * kLargePage;
  for (size_t at = 0; at < size_;) {
    const size_t inside = reinterpret_cast<uintptr_t>(data_ + at) % kLargePage;
    const size_t part = std::min(kPart - inside, size_ - at);
    if (!replace_by_copy(data_ + at, part))
      return Error{ErrorCode::kLimit,
                   path_.string() + ": " + std::to_string(size_) +
                       " bytes cannot be copied to large pages: " + std::strerror(errno)};
    at += part;
  }
  return ok_status();
}

}  // namespace spindrift
