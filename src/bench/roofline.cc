#include "bench/roofline.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

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

constexpr size_t kBytes = size_t{1} << 30;
constexpr size_t kCellBytes = size_t{1} << 20;
constexpr size_t kCells = kBytes / kCellBytes;

using Cells = std::vector<std::span<const std::byte>>;

// The first kCells whole cells of `files`, fewer where there are no more.
Cells cells_of(std::span<const std::span<const std::byte>> files) {
  Cells cells;
  for (const std::span<const std::byte> file : files)
    for (size_t at = 0; at + kCellBytes <= file.size() && cells.size() < kCells; at += kCellBytes)
      cells.push_back(file.subspan(at, kCellBytes));
  return cells;
}

Result<std::unique_ptr<FileInMemory>> filled_file(const Exec& ex) {
  auto file = std::make_unique<FileInMemory>(kBytes);
  std::atomic<bool> filled{file->ok()};
  if (file->ok())
    for_cells(ex, kCells, [&](int64_t first, int64_t last) {
      if (!file->fill(static_cast<size_t>(first) * kCellBytes,
                      static_cast<size_t>(last - first) * kCellBytes))
        filled = false;
    });
  if (filled) return file;
  return Error{ErrorCode::kLimit, std::string("read bandwidth: expected 1 GiB of free memory: ") +
                                      std::strerror(errno)};
}

void raise(Roofline& best, const Roofline& found) {
  best.read_gb_s = std::max(best.read_gb_s, found.read_gb_s);
  best.fma_gflop_s = std::max(best.fma_gflop_s, found.fma_gflop_s);
}

}  // namespace

struct RooflineProbe::State {
  Exec exec;
  kernels::Probes probes;
  std::unique_ptr<FileInMemory> file;
  Cells cells;
  Roofline best;

  // 1e9 bytes a second.
  double read() const {
    std::atomic<uint32_t> sink{0};
    const auto start = Clock::now();
    for_cells(exec, std::ssize(cells), [&](int64_t first, int64_t last) {
      uint32_t bits = 0;
      for (int64_t i = first; i < last; ++i) bits ^= probes.read(cells[static_cast<size_t>(i)]);
      sink += bits;
    });
    return static_cast<double>(cells.size() * kCellBytes) / seconds_since(start) / 1e9;
  }
  // 1e9 operations a second.
  double multiply_add() const {
    constexpr int64_t kSteps = 200'000;  // of one cell: a millisecond or so
    std::atomic<int64_t> flop{0};
    const auto start = Clock::now();
    for_cells(exec, int64_t{8} * thread_count(exec), [&](int64_t first, int64_t last) {
      for (int64_t cell = first; cell < last; ++cell) flop += probes.multiply_adds(kSteps);
    });
    return static_cast<double>(flop) / seconds_since(start) / 1e9;
  }
};

RooflineProbe::RooflineProbe(std::unique_ptr<State> state) : state_(std::move(state)) {}
RooflineProbe::~RooflineProbe() = default;
RooflineProbe::RooflineProbe(RooflineProbe&&) noexcept = default;

Result<RooflineProbe> RooflineProbe::open(const Exec& ex,
                                          std::span<const std::span<const std::byte>> weights) {
  auto state = std::make_unique<State>();
  state->exec = ex;
  state->probes = probes_of(ex);
  state->cells = cells_of(weights);
  if (state->cells.size() < kCells) {
    SPINDRIFT_TRY(state->file, filled_file(ex));
    const std::span<const std::byte> whole = state->file->bytes();
    state->cells = cells_of(std::span(&whole, 1));
  }
  state->read();  // page tables, and what was not in memory
  return RooflineProbe(std::move(state));
}

Roofline RooflineProbe::pass() {
  const Roofline now{.read_gb_s = state_->read(), .fma_gflop_s = state_->multiply_add()};
  raise(state_->best, now);
  return now;
}

Roofline RooflineProbe::passes(int count) {
  Roofline best;
  for (int i = 0; i < count; ++i) raise(best, pass());
  return best;
}

const Roofline& RooflineProbe::best() const { return state_->best; }

}  // namespace spindrift::bench
