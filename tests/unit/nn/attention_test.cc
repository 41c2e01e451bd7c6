#include "nn/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "core/thread_pool.h"
#include "kernels/registry.h"

namespace spindrift::nn {
namespace {

constexpr int64_t kHeads = 6, kKvHeads = 2, kDim = 16;
const Exec kScalar{.kernels = &kernels::table(kernels::Isa::kScalar)};

std::vector<float> waves(int64_t rows, int64_t cols, float frequency) {
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(frequency * static_cast<float>(i));
  return values;
}

TEST(RowPaths, AChainSharesPrefixes) {
  const RowPaths paths(10, 4, {});
  EXPECT_EQ(paths.positions()[3], 13);
  EXPECT_EQ(std::vector<RowIndex>(paths.path(2).begin(), paths.path(2).end()),
            (std::vector<RowIndex>{0, 1, 2}));
}

TEST(RowPaths, ATreeListsAncestorsFromTheOldest) {
  const std::vector<RowIndex> parents = {kRoot, 0, 0, 2, kRoot, 3};
  const RowPaths paths(10, 6, parents);
  EXPECT_EQ(std::vector<Position>(paths.positions().begin(), paths.positions().end()),
            (std::vector<Position>{10, 11, 11, 12, 10, 13}));
  EXPECT_EQ(std::vector<RowIndex>(paths.path(5).begin(), paths.path(5).end()),
            (std::vector<RowIndex>{0, 2, 3, 5}));
  EXPECT_EQ(std::vector<RowIndex>(paths.path(4).begin(), paths.path(4).end()),
            (std::vector<RowIndex>{4}));
}

// One sequence with `context` committed positions and `rows` staged ones.
struct Conversation {
  Conversation(Position context, int64_t rows, Position window)
      : cache({.kv_heads = kKvHeads, .head_dim = kDim, .window = window}),
        keys(waves(context + rows, kKvHeads * kDim, 0.31F)),
        values(waves(context + rows, kKvHeads * kDim, 0.17F)),
        q(waves(rows, kHeads * kDim, 0.23F)),
        out(q.size()),
        paths(context, rows, {}) {
    stage(0, context);
    std::vector<RowIndex> path(static_cast<size_t>(context));
    std::iota(path.begin(), path.end(), 0);
    cache.commit(path);
    stage(context, rows);
  }
  void stage(int64_t first, int64_t rows) {
    const int64_t cols = kKvHeads * kDim;
    cache.stage(ConstRows(keys.data() + first * cols, rows, cols),
                ConstRows(values.data() + first * cols, rows, cols));
  }
  AttentionPart part() {
    const int64_t rows = paths.rows(), cols = kHeads * kDim;
    return {&cache, &paths, ConstRows(q.data(), rows, cols), Rows(out.data(), rows, cols)};
  }

  KvCache cache;
  std::vector<float> keys, values, q, out;
  RowPaths paths;
};

TEST(Attention, IsSoftmaxOfScaledDotsOverTheVisibleKeys) {
  for (const Position window : {0, 7}) {
    Conversation s(70, 20, window);
    const AttentionPart part = s.part();
    attention(std::span(&part, 1), kHeads, 0.25F, {}, kScalar);
    for (int64_t r = 0; r < 20; ++r) {
      for (int64_t h = 0; h < kHeads; ++h) {
        const int64_t kv = h / (kHeads / kKvHeads);
        const Position q = 70 + r, oldest = window == 0 ? 0 : q - window + 1;
        double denominator = 0.0;
        std::vector<double> sum(kDim, 0.0);
        for (Position p = oldest; p <= q; ++p) {
          double dot = 0.0;
          for (int64_t d = 0; d < kDim; ++d)
            dot += static_cast<double>(s.q[static_cast<size_t>((r * kHeads + h) * kDim + d)]) *
                   static_cast<double>(s.keys[static_cast<size_t>((p * kKvHeads + kv) * kDim + d)]);
          const double e = std::exp(0.25 * dot);
          denominator += e;
          for (int64_t d = 0; d < kDim; ++d)
            sum[static_cast<size_t>(d)] +=
                e *
                static_cast<double>(s.values[static_cast<size_t>((p * kKvHeads + kv) * kDim + d)]);
        }
        for (int64_t d = 0; d < kDim; ++d)
          EXPECT_NEAR(s.out[static_cast<size_t>((r * kHeads + h) * kDim + d)],
                      sum[static_cast<size_t>(d)] / denominator, 1e-5);
      }
    }
  }
}

TEST(Attention, AKey511BackReachesTheOutputAnd512BackDoesNot) {
  const auto with_changed_key = [](Position changed) {
    Conversation s(600, 1, 512);
    if (changed >= 0) {
      Conversation other(0, 1, 512);
      other.keys = s.keys;
      other.values = s.values;
      for (int64_t i = 0; i < kKvHeads * kDim; ++i)
        other.values[static_cast<size_t>(changed * kKvHeads * kDim + i)] += 5.0F;
      other.stage(0, 600);
      std::vector<RowIndex> path(600);
      std::iota(path.begin(), path.end(), 0);
      other.cache.commit(path);
      other.stage(600, 1);
      s.cache = std::move(other.cache);
    }
    const AttentionPart part = s.part();
    attention(std::span(&part, 1), kHeads, 0.25F, {}, kScalar);
    return s.out;
  };
  const std::vector<float> plain = with_changed_key(-1);
  const size_t bytes = plain.size() * sizeof(float);
  EXPECT_NE(std::memcmp(plain.data(), with_changed_key(600 - 511).data(), bytes), 0);
  EXPECT_EQ(std::memcmp(plain.data(), with_changed_key(600 - 512).data(), bytes), 0);
}

TEST(Attention, ASinkTakesItsShareAndGivesNothing) {
  Conversation plain(20, 1, 0), sunk(20, 1, 0);
  const AttentionPart a = plain.part(), b = sunk.part();
  const std::vector<float> sinks = {100.0F, -100.0F, 0.0F, 0.0F, 0.0F, 0.0F};
  attention(std::span(&a, 1), kHeads, 0.25F, {}, kScalar);
  attention(std::span(&b, 1), kHeads, 0.25F, sinks, kScalar);
  for (size_t d = 0; d < kDim; ++d) {
    EXPECT_NEAR(sunk.out[d], 0.0, 1e-6);                         // all the weight is the sink's
    EXPECT_NEAR(sunk.out[kDim + d], plain.out[kDim + d], 1e-6);  // none is
  }
}

TEST(Attention, BitsDoNotDependOnThreadsOrOnTheOtherParts) {
  Conversation alone(130, 40, 64);
  const AttentionPart single = alone.part();
  attention(std::span(&single, 1), kHeads, 0.25F, {}, kScalar);
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    Conversation a(300, 3, 64), b(130, 40, 64);
    const AttentionPart parts[] = {a.part(), b.part()};
    attention(parts, kHeads, 0.25F, {}, {.pool = &pool, .kernels = kScalar.kernels});
    EXPECT_EQ(std::memcmp(b.out.data(), alone.out.data(), b.out.size() * sizeof(float)), 0);
  }
}

}  // namespace
}  // namespace spindrift::nn
