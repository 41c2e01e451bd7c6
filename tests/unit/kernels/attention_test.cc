#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/bf16.h"
#include "kernels/registry.h"
#include "support/kernel_tester.h"
#include "unit/kernels/kernel_cases.h"

namespace spindrift {
namespace {

using kernels::AttentionRow;
using kernels::AttentionShape;
using kernels::KeySegment;
using testing::attention_case;
using testing::AttentionCase;
using testing::KernelTester;
using testing::Noise;
using testing::same_bits;

constexpr int64_t kDim = 48;

// Keys and values of one KV head, one after the other.
struct Store {
  std::vector<float> keys, values;
  explicit Store(int64_t positions, uint64_t seed = 5) {
    Noise noise(seed);
    keys = noise.values(positions * kDim);
    values = noise.values(positions * kDim);
  }
  KeySegment segment(Position first, int64_t count) const {
    return {first,
            count,
            DType::kF32,
            reinterpret_cast<const std::byte*>(keys.data() + first * kDim),
            reinterpret_cast<const std::byte*>(values.data() + first * kDim),
            kDim,
            0};
  }
};

std::vector<float> attend(const kernels::Table& table, const std::vector<float>& q, int64_t group,
                          std::span<const KeySegment> segments, std::span<const float> sinks = {}) {
  std::vector<float> out(q.size());
  const AttentionShape shape{kDim, group, 0, 0.25F};
  const AttentionRow row{q.data(), out.data(), segments, sinks};
  int64_t keys = 0;
  for (const KeySegment& s : segments) keys += s.count;
  std::vector<float> scratch(static_cast<size_t>(kernels::attention_scratch(1, shape, keys)));
  table.attention({&row, 1}, shape, scratch);
  return out;
}

TEST(Attention, LawsHoldForMoreRowsThanAreWorkedOnAtOnce) {
  KernelTester(attention_case({.head_dim = 32, .group = 3, .committed = 20, .window = 9}))
      .rows(40)
      .check();
  KernelTester(attention_case({.head_dim = 16, .group = 2, .committed = 20, .tree = true}))
      .rows(40)
      .check();
}

TEST(Attention, LawsHoldForEveryHeadSize) {
  for (int64_t dim = 1; dim <= 40; dim += 3) {
    KernelTester(attention_case({.head_dim = dim, .committed = 18})).rows(4).check();
    KernelTester(attention_case({.head_dim = dim, .committed = 18, .dtype = DType::kBf16}))
        .rows(4)
        .check();
  }
}

TEST(Attention, LawsHoldForManyHeadsOnOneKvHead) {
  KernelTester(attention_case({.head_dim = 16, .group = 48, .committed = 30})).rows(5).check();
}

TEST(Attention, CuttingTheSameKeysDifferentlyChangesNoBit) {
  const Store store(100);
  const std::vector<float> q = Noise(1).values(2 * kDim);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    const std::vector<KeySegment> whole = {store.segment(3, 90)};
    const std::vector<float> want = attend(table, q, 2, whole);
    for (int64_t step = 1; step < 90; step += 4) {
      std::vector<KeySegment> cut;
      for (Position p = 3; p < 93; p += step) {
        cut.push_back(store.segment(p, std::min<int64_t>(step, 93 - p)));
      }
      ASSERT_TRUE(same_bits(attend(table, q, 2, cut), want)) << table.name << " step " << step;
    }
  }
}

TEST(Attention, ACopyOfTheKeysElsewhereChangesNoBit) {
  const Store store(64);
  Store copy = store;
  const std::vector<float> q = Noise(1).values(2 * kDim);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    const std::vector<KeySegment> a = {store.segment(0, 30), store.segment(30, 30)};
    const std::vector<KeySegment> b = {store.segment(0, 30), copy.segment(30, 30)};
    ASSERT_TRUE(same_bits(attend(table, q, 2, a), attend(table, q, 2, b))) << table.name;
  }
}

TEST(Attention, RowsThatShareOnlyKeysOrOnlyValuesAreKeptApart) {
  const Store one(40, 5);
  const Store other(40, 6);
  const std::vector<float> q = Noise(1).values(3 * kDim);
  const AttentionShape shape{kDim, 1, 0, 0.25F};
  KeySegment own = one.segment(0, 40);
  KeySegment other_values = own;
  other_values.values = other.segment(0, 40).values;
  KeySegment other_keys = own;
  other_keys.keys = other.segment(0, 40).keys;
  const std::vector<std::vector<KeySegment>> segments = {{own}, {other_values}, {other_keys}};
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    std::vector<float> out(q.size());
    std::vector<AttentionRow> rows;
    for (size_t r = 0; r < 3; ++r) {
      rows.push_back({q.data() + r * kDim, out.data() + r * kDim, segments[r], {}});
    }
    std::vector<float> scratch(static_cast<size_t>(kernels::attention_scratch(3, shape, 40)));
    table.attention(rows, shape, scratch);
    for (size_t r = 0; r < 3; ++r) {
      const std::vector<float> mine(q.begin() + static_cast<std::ptrdiff_t>(r * kDim),
                                    q.begin() + static_cast<std::ptrdiff_t>((r + 1) * kDim));
      EXPECT_TRUE(
          same_bits(std::span(out).subspan(r * kDim, kDim), attend(table, mine, 1, segments[r])))
          << table.name << " row " << r;
    }
  }
}

TEST(Attention, AMaskedKeyIsAnAbsentKey) {
  // What lies in a gap, before the first and behind the last key is never read into a result.
  Store store(60);
  const std::vector<float> q = Noise(1).values(kDim);
  const auto segments = [&] {
    return std::vector<KeySegment>{store.segment(5, 7), store.segment(20, 21)};
  };
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    const std::vector<float> before = attend(table, q, 1, segments());
    Store saved = store;
    for (Position p = 0; p < 60; ++p) {
      if ((p >= 5 && p < 12) || (p >= 20 && p < 41)) continue;
      std::fill_n(store.keys.begin() + p * kDim, kDim, std::numeric_limits<float>::quiet_NaN());
      std::fill_n(store.values.begin() + p * kDim, kDim, std::numeric_limits<float>::infinity());
    }
    EXPECT_TRUE(same_bits(attend(table, q, 1, segments()), before)) << table.name;
    store = saved;
  }
}

TEST(Attention, AKeyThatOnlyAnotherRowSeesChangesNoBit) {
  // Two rows over one store, the second sees one key more; that key turns to NaN.
  Store store(40);
  const std::vector<float> q = Noise(1).values(2 * kDim);
  const AttentionShape shape{kDim, 1, 0, 0.25F};
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const kernels::Table& table = kernels::table(isa);
    const auto first_row = [&] {
      const std::vector<KeySegment> a = {store.segment(0, 35)};
      const std::vector<KeySegment> b = {store.segment(1, 35)};
      std::vector<float> out(2 * kDim);
      const std::vector<AttentionRow> rows = {{q.data(), out.data(), a, {}},
                                              {q.data() + kDim, out.data() + kDim, b, {}}};
      std::vector<float> scratch(static_cast<size_t>(kernels::attention_scratch(2, shape, 35)));
      table.attention(rows, shape, scratch);
      out.resize(kDim);
      return out;
    };
    const std::vector<float> before = first_row();
    const Store saved = store;
    std::fill_n(store.keys.begin() + 35 * kDim, kDim, std::numeric_limits<float>::quiet_NaN());
    std::fill_n(store.values.begin() + 35 * kDim, kDim, std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(same_bits(first_row(), before)) << table.name;
    store = saved;
  }
}

TEST(Attention, OneKeyReturnsItsValue) {
  const Store store(20);
  const std::vector<float> q = Noise(1).values(kDim);
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const std::vector<KeySegment> one = {store.segment(13, 1)};
    const std::vector<float> out = attend(kernels::table(isa), q, 1, one);
    EXPECT_TRUE(same_bits(out, std::span(store.values).subspan(13 * kDim, kDim)));
  }
}

TEST(Attention, ASinkTakesItsShareAndGivesNoValue) {
  // Zero queries: every score is 0. Three keys and a sink of logit 0 share equally.
  Store store(3);
  std::fill(store.values.begin(), store.values.end(), 1.0F);
  const std::vector<float> q(kDim, 0.0F);
  const std::vector<float> sinks = {0.0F};
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const std::vector<KeySegment> all = {store.segment(0, 3)};
    for (const float v : attend(kernels::table(isa), q, 1, all, sinks)) EXPECT_EQ(v, 0.75F);
  }
}

TEST(Attention, AHugeSinkLeavesFiniteResults) {
  const Store store(5);
  const std::vector<float> q = Noise(1).values(kDim);
  const std::vector<float> sinks = {1000.0F};
  for (const kernels::Isa isa : kernels::usable_isas()) {
    const std::vector<KeySegment> all = {store.segment(0, 5)};
    for (const float v : attend(kernels::table(isa), q, 1, all, sinks)) EXPECT_EQ(v, 0.0F);
  }
}

}  // namespace
}  // namespace spindrift
