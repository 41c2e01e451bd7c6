#include "io/mmap_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/check.h"
#include "io/file.h"

namespace spindrift {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  SPINDRIFT_TRY(RegularFile file, open_regular_file(path));
  const auto size = static_cast<size_t>(file.bytes);
  const std::byte* data = nullptr;
  if (size > 0) {  // mmap refuses a length of zero
    void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.handle.fd(), 0);
    if (map == MAP_FAILED)
      return Error{ErrorCode::kIo, path.string() + ": cannot be mapped: " + std::strerror(errno)};
    data = static_cast<const std::byte*>(map);
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::advise(Advice advice, std::span<const std::byte> range) const {
  if (range.empty()) return;
  SPINDRIFT_CHECK(range.data() >= data_ && range.data() + range.size() <= data_ + size_,
                  "advice about bytes outside the map");
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto first = static_cast<size_t>(range.data() - data_) / page * page;
  const auto last = static_cast<size_t>(range.data() - data_) + range.size();
  int flag = MADV_NORMAL;
  switch (advice) {
    case Advice::kNormal:
      break;
    case Advice::kSequential:
      flag = MADV_SEQUENTIAL;
      break;
    case Advice::kRandom:
      flag = MADV_RANDOM;
      break;
    case Advice::kWillNeed:
      flag = MADV_WILLNEED;
      break;
    case Advice::kDontNeed:
      flag = MADV_DONTNEED;
      break;
  }
  ::madvise(const_cast<std::byte*>(data_) + first, last - first, flag);
}

Status MappedFile::lock() const {
  if (size_ == 0 || ::mlock(data_, size_) == 0) return ok_status();
  return Error{ErrorCode::kLimit,
               path_.string() + ": " + std::to_string(size_) +
                   " bytes cannot be locked in memory: " + std::strerror(errno),
               "raise the limit on locked memory (ulimit -l)"};
}

}  // namespace spindrift
