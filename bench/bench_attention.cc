// Attention of one KV head on one core, over a cache of blocks of 64 positions.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench_support.h"
#include "kernels/contract.h"

namespace spindrift::bench {
namespace {

constexpr int64_t kDim = 128;
constexpr int64_t kBlock = 64;

// Arguments: query rows (a chain), keys committed before them.
void bm_attention(benchmark::State& state, DType dtype, int64_t group) {
  const int64_t rows = state.range(0);
  const int64_t committed = state.range(1);
  const int64_t element = dtype_bytes(dtype);
  const int64_t positions = committed + rows;
  const int64_t head_bytes = positions * kDim * element;
  // As many KV heads as exceed the caches, visited in turn.
  const int64_t heads = std::max<int64_t>(1, (int64_t{64} << 20) / head_bytes);
  std::vector<std::byte> keys;
  if (dtype == DType::kF32) {
    const std::vector<float> values = noise_floats(heads * positions * kDim);
    const auto bytes = std::as_bytes(std::span(values));
    keys.assign(bytes.begin(), bytes.end());
  } else {
    keys = noise_bytes(heads * head_bytes);
  }
  const std::vector<std::byte> values = keys;
  const std::vector<float> q = noise_floats(rows * group * kDim);
  std::vector<float> out(q.size());

  const kernels::AttentionShape shape{kDim, group, 0, 0.088F};
  std::vector<float> scratch(
      static_cast<size_t>(kernels::attention_scratch(rows, shape, positions)));
  int64_t head = 0;
  std::vector<std::vector<kernels::KeySegment>> segments(static_cast<size_t>(rows));
  std::vector<kernels::AttentionRow> work(static_cast<size_t>(rows));
  for (auto _ : state) {
    const std::byte* k = keys.data() + head * head_bytes;
    const std::byte* v = values.data() + head * head_bytes;
    for (int64_t r = 0; r < rows; ++r) {
      auto& s = segments[static_cast<size_t>(r)];
      s.clear();
      const auto add = [&](Position first, int64_t count) {
        s.push_back(
            {first, count, dtype, k + first * kDim * element, v + first * kDim * element, kDim, 0});
      };
      for (Position p = 0; p < committed; p += kBlock) add(p, std::min(kBlock, committed - p));
      add(committed, r + 1);
      work[static_cast<size_t>(r)] = {
          q.data() + r * group * kDim, out.data() + r * group * kDim, s, {}};
    }
    table().attention(work, shape, scratch);
    benchmark::ClobberMemory();
    head = (head + 1) % heads;
  }
  const double seen = static_cast<double>(rows * committed + rows * (rows + 1) / 2);
  report(state, 2.0 * static_cast<double>(head_bytes),
         4.0 * seen * static_cast<double>(group * kDim));
}

void register_all() {
  for (const auto& [name, dtype] : {std::pair{"f32", DType::kF32}, {"bf16", DType::kBf16}}) {
    for (const int64_t group : {1, 6, 8}) {
      auto* b = benchmark::RegisterBenchmark(
          (std::string("attention/") + name + "/group" + std::to_string(group)).c_str(),
          [dtype = dtype, group](benchmark::State& state) { bm_attention(state, dtype, group); });
      for (const int64_t rows : {1, 4, 8, 16, 256}) {
        for (const int64_t keys : {512, 8192, 32768}) b->Args({rows, keys});
      }
      b->Unit(benchmark::kMicrosecond)->MinTime(0.2);
    }
  }
}

}  // namespace
}  // namespace spindrift::bench

int main(int argc, char** argv) {
  spindrift::bench::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
