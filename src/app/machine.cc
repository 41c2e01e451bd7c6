#include "app/machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string_view>

#include "app/cpu_budget.h"
#include "core/thread_pool.h"
#include "kernels/registry.h"

namespace spindrift {
namespace {

std::string cpu_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// Sums 64-bit words in eight chains, so that the loads and not the additions are the limit.
uint64_t read_all(const std::byte* data, int64_t bytes) {
  uint64_t sums[8] = {};
  for (int64_t at = 0; at + 64 <= bytes; at += 64) {
    uint64_t words[8];
    std::memcpy(words, data + at, sizeof words);
    for (int i = 0; i < 8; ++i) sums[i] += words[i];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

Result<Machine> describe_machine() {
  Machine out;
  out.cpu = cpu_name();
  for (const kernels::Isa isa : kernels::usable_isas())
    out.usable_isas.emplace_back(kernels::table(isa).name);
  SPINDRIFT_TRY(const kernels::Isa isa, kernels::default_isa());
  out.isa = kernels::table(isa).name;
  out.threads = cpu_budget();
  out.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGE_SIZE)};
  return out;
}

double measure_read_bandwidth(int threads) {
  constexpr int64_t kBytes = int64_t{1} << 30;
  constexpr int64_t kCells = 1024;
  constexpr int64_t kCellBytes = kBytes / kCells;
  void* map = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return 0;
  auto* data = static_cast<std::byte*>(map);
  ThreadPool pool(threads);
  const Exec ex{.pool = &pool};
  for_cells(ex, kCells, [&](int64_t first, int64_t last) {
    std::memset(data + first * kCellBytes, 1, static_cast<size_t>((last - first) * kCellBytes));
  });
  double best = 0;
  std::atomic<uint64_t> sink{0};
  for (int pass = 0; pass < 5; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    for_cells(ex, kCells, [&](int64_t first, int64_t last) {
      sink += read_all(data + first * kCellBytes, (last - first) * kCellBytes);
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kBytes) / took.count() / 1e9);
  }
  munmap(map, kBytes);
  return best;
}

}  // namespace spindrift
