#include "bench/roofline.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "core/thread_pool.h"
#include "kernels/contract.h"
#include "kernels/probe.h"
#include "kernels/registry.h"

namespace spindrift::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

kernels::Probes probes_of(const Exec& ex) {
  if (ex.kernels->isa != kernels::Isa::kScalar) return kernels::probes(ex.kernels->isa);
  return kernels::probes(kernels::usable_isas().at(1));
}

// An unnamed file in memory, mapped twice: to be filled, and as weights are.
class FileInMemory {
 public:
  explicit FileInMemory(size_t bytes) : size_(bytes), fd_(memfd_create("spindrift-bench", 0)) {
    if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return;
    void* map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd_, 0);
    if (map != MAP_FAILED) data_ = static_cast<const std::byte*>(map);
  }
  ~FileInMemory() {
    if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
    if (fd_ >= 0) close(fd_);
  }
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;

  bool fill(size_t first, size_t count) const {
    const std::string block(size_t{1} << 20, 'x');
    for (size_t at = first; at < first + count;) {
      const size_t part = std::min(block.size(), first + count - at);
      const ssize_t wrote = pwrite(fd_, block.data(), part, static_cast<off_t>(at));
      if (wrote <= 0) return false;
      at += static_cast<size_t>(wrote);
    }
    return true;
  }
  bool ok() const { return data_ != nullptr; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  size_t size_;
  int fd_;
  const std::byte* data_ = nullptr;
};

}  // namespace

Result<double> measure_read_gb_s(const Exec& ex, int passes) {
  constexpr int64_t kBytes = int64_t{1} << 30;
  constexpr int64_t kCells = 1024;
  constexpr size_t kCellBytes = kBytes / kCells;
  const FileInMemory file(kBytes);
  std::atomic<bool> filled{file.ok()};
  if (file.ok())
    for_cells(ex, kCells, [&](int64_t first, int64_t last) {
      if (!file.fill(static_cast<size_t>(first) * kCellBytes,
                     static_cast<size_t>(last - first) * kCellBytes))
        filled = false;
    });
  if (!filled)
    return Error{ErrorCode::kLimit, std::string("read bandwidth: expected 1 GiB of free memory: ") +
                                        std::strerror(errno)};
  const kernels::Probes probes = probes_of(ex);
  std::atomic<uint32_t> sink{0};
  double best = 0;
  for (int pass = 0; pass < 1 + passes; ++pass) {  // the first makes the page table
    const auto start = Clock::now();
    for_cells(ex, kCells, [&](int64_t first, int64_t last) {
      sink += probes.read(file.bytes().subspan(static_cast<size_t>(first) * kCellBytes,
                                               static_cast<size_t>(last - first) * kCellBytes));
    });
    best = std::max(best, static_cast<double>(kBytes) / seconds_since(start) / 1e9);
  }
  return best;
}

double measure_fma_gflop_s(const Exec& ex) {
  constexpr int64_t kSteps = 200'000;  // of one cell: a millisecond or so
  const kernels::Probes probes = probes_of(ex);
  double best = 0;
  for (int pass = 0; pass < 5; ++pass) {
    std::atomic<int64_t> flop{0};
    const auto start = Clock::now();
    for_cells(ex, int64_t{8} * thread_count(ex), [&](int64_t first, int64_t last) {
      for (int64_t cell = first; cell < last; ++cell) flop += probes.multiply_adds(kSteps);
    });
    best = std::max(best, static_cast<double>(flop) / seconds_since(start) / 1e9);
  }
  return best;
}

Result<Roofline> measure_roofline(const Exec& ex) {
  SPINDRIFT_TRY(const double read, measure_read_gb_s(ex));
  return Roofline{.read_gb_s = read, .fma_gflop_s = measure_fma_gflop_s(ex)};
}

}  // namespace spindrift::bench
