#include "core/thread_pool.h"

#include <atomic>
#include <thread>
#include <vector>

#include "core/check.h"

namespace spindrift {
namespace {

// About 20-50 microseconds of spinning: longer than the gap between two products of one forward,
// far shorter than anything a person notices.
constexpr int kSpins = 4000;

inline void pause_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

struct ThreadPool::State {
  int threads = 1;
  std::vector<std::thread> workers;
  // A new generation starts a job; `pending` counts the workers that still run it.
  std::atomic<uint32_t> generation{0};
  std::atomic<int> pending{0};
  std::atomic<bool> stop{false};
  void (*job)(void*, int) = nullptr;
  void* context = nullptr;

  void work(int worker) {
    uint32_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && generation.load(std::memory_order_acquire) == seen;
           ++spin)
        pause_cpu();
      generation.wait(seen, std::memory_order_acquire);
      seen = generation.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      job(context, worker);
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  SPINDRIFT_CHECK(threads >= 1, "a pool has at least one thread");
  state_->threads = threads;
  for (int worker = 1; worker < threads; ++worker)
    state_->workers.emplace_back([state = state_.get(), worker] { state->work(worker); });
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_release);
  state_->generation.fetch_add(1, std::memory_order_release);
  state_->generation.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::threads() const { return state_->threads; }

void ThreadPool::run(void (*job)(void*, int), void* context) {
  State& s = *state_;
  if (s.threads == 1) {
    job(context, 0);
    return;
  }
  s.job = job;
  s.context = context;
  s.pending.store(s.threads - 1, std::memory_order_relaxed);
  s.generation.fetch_add(1, std::memory_order_release);
  s.generation.notify_all();
  job(context, 0);
  for (int spin = 0; spin < kSpins && s.pending.load(std::memory_order_acquire) != 0; ++spin)
    pause_cpu();
  for (int left = s.pending.load(std::memory_order_acquire); left != 0;
       left = s.pending.load(std::memory_order_acquire))
    s.pending.wait(left, std::memory_order_acquire);
}

int thread_count(const Exec& ex) { return ex.pool == nullptr ? 1 : ex.pool->threads(); }

}  // namespace spindrift
