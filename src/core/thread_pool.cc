#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/check.h"

namespace spindrift {
namespace {

// About 20-50 microseconds of spinning: longer than the gap between two products of one forward,
// far shorter than anything a person notices.
constexpr int kSpins = 4000;
// Pieces a worker's own part is cut into: what is left for others when it comes late.
constexpr int64_t kPieces = 4;

// The gate of a job: its number, whether workers may still join, and how many have.
constexpr uint64_t kOpen = uint64_t{1} << 31;
constexpr uint64_t kJoined = kOpen - 1;
uint64_t number_of(uint64_t gate) { return gate >> 32; }

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// One worker's part of the cells; others take from it too.
struct alignas(64) Part {
  std::atomic<int64_t> next{0};
  int64_t last = 0;
};

}  // namespace

struct ThreadPool::State {
  explicit State(int count) : parts(static_cast<size_t>(count)) {}

  std::vector<Part> parts;  // one a worker
  std::vector<std::thread> threads;
  std::atomic<uint64_t> gate{0};
  std::atomic<uint32_t> signal{0};  // number of the newest job; what sleepers wait on
  std::atomic<int> sleepers{0};
  std::atomic<uint64_t> finished{0};  // joined workers that have left the job
  std::atomic<bool> stop{false};
  int64_t piece = 1;
  Work work = nullptr;
  void* context = nullptr;

  void take(size_t worker) {
    for (size_t k = 0; k < parts.size(); ++k) {
      Part& part = parts[(worker + k) % parts.size()];
      for (;;) {
        const int64_t first = part.next.fetch_add(piece, std::memory_order_relaxed);
        if (first >= part.last) break;
        work(context, first, std::min(first + piece, part.last));
      }
    }
  }

  bool join(uint32_t job) {
    uint64_t seen = gate.load(std::memory_order_acquire);
    while (number_of(seen) == job && (seen & kOpen) != 0)
      if (gate.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  uint32_t wait_for_job(uint32_t last) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (const uint32_t job = signal.load(std::memory_order_acquire); job != last) return job;
      pause_cpu();
    }
    sleepers.fetch_add(1);
    signal.wait(last);
    sleepers.fetch_sub(1);
    return signal.load(std::memory_order_acquire);
  }

  void serve(size_t worker) {
    for (uint32_t job = 0;;) {
      job = wait_for_job(job);
      if (stop.load(std::memory_order_acquire)) return;
      if (!join(job)) continue;
      take(worker);
      finished.fetch_add(1, std::memory_order_release);
    }
  }

  void announce() {
    signal.fetch_add(1);
    if (sleepers.load() > 0) signal.notify_all();
  }

  void end() {
    stop.store(true, std::memory_order_release);
    announce();
    for (std::thread& thread : threads) thread.join();
  }
};

ThreadPool::ThreadPool(int threads) {
  SPINDRIFT_CHECK(threads >= 1, "a pool has at least one thread");
  state_ = std::make_unique<State>(threads);
  try {
    for (size_t worker = 1; worker < state_->parts.size(); ++worker)
      state_->threads.emplace_back([state = state_.get(), worker] { state->serve(worker); });
  } catch (...) {
    state_->end();
    throw;
  }
}

ThreadPool::~ThreadPool() { state_->end(); }

int ThreadPool::threads() const { return static_cast<int>(state_->parts.size()); }

void ThreadPool::run(int64_t cells, Work work, void* context) {
  State& s = *state_;
  const auto workers = static_cast<int64_t>(s.parts.size());
  s.work = work;
  s.context = context;
  s.piece = std::max<int64_t>(1, (cells + workers * kPieces - 1) / (workers * kPieces));
  for (int64_t w = 0; w < workers; ++w) {
    Part& part = s.parts[static_cast<size_t>(w)];
    part.next.store(cells * w / workers, std::memory_order_relaxed);
    part.last = cells * (w + 1) / workers;
  }
  s.finished.store(0, std::memory_order_relaxed);
  const uint64_t job = s.signal.load(std::memory_order_relaxed) + uint32_t{1};
  s.gate.store((job & 0xFFFFFFFF) << 32 | kOpen, std::memory_order_release);
  s.announce();
  s.take(0);
  // Every piece is taken; those who joined are in their last one.
  const uint64_t joined = s.gate.fetch_and(~kOpen, std::memory_order_acq_rel) & kJoined;
  for (int spin = 0; s.finished.load(std::memory_order_acquire) != joined; ++spin) {
    if (spin < kSpins)
      pause_cpu();
    else
      std::this_thread::yield();
  }
}

int thread_count(const Exec& ex) { return ex.pool == nullptr ? 1 : ex.pool->threads(); }

}  // namespace spindrift
