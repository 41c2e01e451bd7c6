#include "bench_support.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "kernels/probe.h"

namespace spindrift::bench {
namespace {

// Processor time, as the benchmarks count it: other programs on the machine disturb it less.
template <class Work>
double seconds(const Work& work) {
  const std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

Roofline measure() {
  const kernels::Probes probes = kernels::probes(kernels::usable_isas().back());
  const std::vector<std::byte> memory = noise_bytes(int64_t{1} << 30);
  Roofline best;
  for (int run = 0; run < 5; ++run) {
    uint32_t sum = 0;
    const double t = seconds([&] { sum = probes.read(memory); });
    benchmark::DoNotOptimize(sum);
    best.read_gb_s = std::max(best.read_gb_s, static_cast<double>(memory.size()) / t * 1e-9);
    int64_t flop = 0;
    const double u = seconds([&] { flop = probes.multiply_adds(1000000); });
    best.gflop_s = std::max(best.gflop_s, static_cast<double>(flop) / u * 1e-9);
  }
  std::fprintf(stderr, "one core: reads %.1f GB/s, %.1f GFLOP/s; kernels: %s\n", best.read_gb_s,
               best.gflop_s, std::string(table().name).c_str());
  return best;
}

}  // namespace

const Roofline& roofline() {
  static const Roofline best = measure();
  return best;
}

const kernels::Table& table() {
  const Result<kernels::Isa> isa = kernels::default_isa();
  if (!isa.ok()) {
    std::fprintf(stderr, "%s\n", isa.error().message.c_str());
    std::exit(2);
  }
  return kernels::table(isa.value());
}

std::vector<std::byte> noise_bytes(int64_t bytes) {
  std::vector<std::byte> result(static_cast<size_t>(bytes));
  uint64_t state = 88172645463325252U;
  // Every other byte holds the sign and exponent of a 16-bit or 32-bit float of ordinary size.
  for (size_t i = 0; i < result.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    result[i] = static_cast<std::byte>(i % 2 == 0 ? state : 0x3cU | (state & 0x83U));
  }
  return result;
}

std::vector<float> noise_floats(int64_t count) {
  std::vector<float> result(static_cast<size_t>(count));
  std::minstd_rand random(7);
  std::uniform_real_distribution<float> spread(-1.0F, 1.0F);
  for (float& v : result) v = spread(random);
  return result;
}

void report(benchmark::State& state, double bytes, double flop) {
  const Roofline& limit = roofline();
  const auto rate = [](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  const double floor_s = std::max(bytes / limit.read_gb_s, flop / limit.gflop_s) * 1e-9;
  state.counters["GB/s"] = rate(bytes * 1e-9);
  state.counters["GFLOP/s"] = rate(flop * 1e-9);
  state.counters["bandwidth"] = rate(bytes * 1e-9 / limit.read_gb_s);
  state.counters["peak"] = rate(flop * 1e-9 / limit.gflop_s);
  state.counters["of_floor"] = rate(floor_s);
}

}  // namespace spindrift::bench
