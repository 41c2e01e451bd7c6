#include "nn/kv_cache.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace spindrift::nn {
namespace {

using kernels::KeySegment;

// A cache of one head of one feature: the key of a row is a number that names it.
class NamedKeys {
 public:
  explicit NamedKeys(Position window, DType dtype = DType::kF32)
      : cache({.kv_heads = 1, .head_dim = 1, .window = window, .dtype = dtype}) {}

  void stage(std::vector<float> names) {
    std::vector<float> values;
    for (const float name : names) values.push_back(-name);
    const auto rows = static_cast<int64_t>(names.size());
    cache.stage(ConstRows(names.data(), rows, 1), ConstRows(values.data(), rows, 1));
  }
  // Commits `count` rows one chunk at a time; position p is named p.
  void fill(Position count, Position chunk) {
    while (cache.committed() < count) {
      const Position rows = std::min(chunk, count - cache.committed());
      std::vector<float> names(static_cast<size_t>(rows));
      std::iota(names.begin(), names.end(), static_cast<float>(cache.committed()));
      stage(names);
      std::vector<RowIndex> path(names.size());
      std::iota(path.begin(), path.end(), 0);
      cache.commit(path);
    }
  }
  struct Seen {
    std::vector<Position> positions;
    std::vector<float> names;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  Seen seen(Position q, std::vector<RowIndex> path) const {
    std::vector<KeySegment> segments;
    cache.visible(q, path, segments);
    Seen seen;
    for (const KeySegment& s : segments) {
      for (int64_t i = 0; i < s.count; ++i) {
        float key = 0, value = 0;
        std::memcpy(&key, s.keys + 4 * i * s.position_stride, 4);
        std::memcpy(&value, s.values + 4 * i * s.position_stride, 4);
        EXPECT_EQ(value, -key);
        seen.positions.push_back(s.first + i);
        seen.names.push_back(key);
      }
    }
    return seen;
  }

  KvCache cache;
};

TEST(KvCache, AKeyExactly511BackIsSeenAnd512BackIsNot) {
  NamedKeys keys(512);
  keys.fill(600, 600);
  keys.stage({600});
  const auto seen = keys.seen(600, {0});
  EXPECT_EQ(seen.positions.front(), 600 - 511);
  EXPECT_EQ(seen.positions.back(), 600);
  EXPECT_EQ(seen.positions.size(), 512U);
}

TEST(KvCache, AWindowHidesStagedRowsToo) {
  NamedKeys keys(3);
  keys.stage({0, 1, 2, 3, 4});
  EXPECT_EQ(keys.seen(4, {0, 1, 2, 3, 4}).positions, (std::vector<Position>{2, 3, 4}));
  EXPECT_EQ(keys.seen(1, {0, 1}).positions, (std::vector<Position>{0, 1}));
}

TEST(KvCache, AWindowOfOneSeesTheQueryAlone) {
  NamedKeys keys(1);
  for (Position p = 0; p < 200; ++p) {
    keys.stage({static_cast<float>(p)});
    EXPECT_EQ(keys.seen(p, {0}), (NamedKeys::Seen{{p}, {static_cast<float>(p)}}));
    keys.cache.commit(std::vector<RowIndex>{0});
  }
}

TEST(KvCache, KeysComeBackByPositionForEveryWindowAndChunk) {
  for (const Position window : {0, 1, 2, 16, 63, 64, 65, 130, 512}) {
    for (const Position chunk : {1, 7, 64, 300}) {
      NamedKeys keys(window);
      keys.fill(300, chunk);
      keys.stage({300, 301});
      const auto seen = keys.seen(301, {0, 1});
      const Position oldest = window == 0 ? 0 : std::max<Position>(0, 301 - window + 1);
      ASSERT_EQ(seen.positions.size(), static_cast<size_t>(302 - oldest));
      for (size_t i = 0; i < seen.positions.size(); ++i) {
        EXPECT_EQ(seen.positions[i], oldest + static_cast<Position>(i));
        EXPECT_EQ(seen.names[i], static_cast<float>(seen.positions[i]));
      }
    }
  }
}

TEST(KvCache, ARowSeesItsAncestorsAndNoSibling) {
  NamedKeys keys(0);
  keys.fill(100, 100);
  keys.stage({10, 20, 30, 40, 50});  // 10 -> {20, 30}, 30 -> {40, 50}
  const auto seen = keys.seen(102, {0, 2, 4});
  EXPECT_EQ(std::vector<float>(seen.names.end() - 3, seen.names.end()),
            (std::vector<float>{10, 30, 50}));
  EXPECT_EQ(std::vector<Position>(seen.positions.end() - 3, seen.positions.end()),
            (std::vector<Position>{100, 101, 102}));
}

TEST(KvCache, CommittingABranchEqualsNeverStagingTheRest) {
  for (const Position before : {0, 60, 63, 64, 127}) {
    NamedKeys branch(0), chain(0);
    branch.fill(before, 50);
    chain.fill(before, 50);
    branch.stage({10, 20, 30, 40, 50});
    branch.cache.commit(std::vector<RowIndex>{0, 2, 4});
    chain.stage({10, 30, 50});
    chain.cache.commit(std::vector<RowIndex>{0, 1, 2});
    std::vector<std::byte> a, b;
    branch.cache.append_state(a);
    chain.cache.append_state(b);
    EXPECT_EQ(a, b);
    EXPECT_EQ(branch.cache.committed(), before + 3);
  }
}

TEST(KvCache, StagingReplacesWhatWasStaged) {
  NamedKeys keys(0);
  keys.fill(10, 10);
  keys.stage({77, 78, 79});
  keys.stage({10});
  EXPECT_EQ(keys.cache.staged(), 1);
  keys.cache.commit(std::vector<RowIndex>{0});
  keys.stage({11});
  EXPECT_EQ(keys.seen(11, {0}).names.at(10), 10.0F);
}

TEST(KvCache, MemoryOfAWindowStopsGrowing) {
  NamedKeys keys(128);
  keys.fill(1000, 50);
  const int64_t settled = keys.cache.bytes();
  keys.fill(20000, 50);
  EXPECT_EQ(keys.cache.bytes(), settled);
}

TEST(KvCache, TruncateKeepsAPrefixAndRefusesWhatAWindowHasLetGo) {
  NamedKeys full(0), window(100);
  full.fill(500, 77);
  window.fill(500, 77);
  ASSERT_TRUE(full.cache.truncate(130).ok());
  EXPECT_EQ(full.cache.committed(), 130);
  full.stage({130});
  EXPECT_EQ(full.seen(130, {0}).names.back(), 130.0F);

  const Status refused = window.cache.truncate(130);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(window.cache.committed(), 500);
  ASSERT_TRUE(window.cache.truncate(490).ok());
  window.stage({490});
  EXPECT_EQ(window.seen(490, {0}).positions.front(), 391);
  EXPECT_EQ(window.seen(490, {0}).names.front(), 391.0F);
}

TEST(KvCache, GoingBackToNothingIsAFreshStart) {
  for (const Position window : {0, 1, 40}) {
    NamedKeys keys(window);
    keys.fill(50, 9);
    ASSERT_TRUE(keys.cache.truncate(0).ok());
    keys.fill(90, 9);
    keys.stage({90});
    EXPECT_EQ(keys.seen(90, {0}).names.front(), static_cast<float>(window == 0 ? 0 : 91 - window));
  }
}

// Gives `to` the first `count` blocks of `from`; windows get null where those have let go.
void share(const NamedKeys& from, NamedKeys& to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to.cache.append(from.cache.block(i));
}

TEST(KvCache, ASequenceOfSharedBlocksSeesWhatTheOtherSees) {
  for (const Position window : {0, 1, 40, 64, 100}) {
    NamedKeys from(window), to(window);
    from.cache.keep_from(0);
    from.fill(200, 50);
    share(from, to, 3);
    EXPECT_EQ(to.cache.committed(), 192);
    to.fill(200, 3);
    from.stage({200});
    to.stage({200});
    EXPECT_EQ(to.seen(200, {0}), from.seen(200, {0}));
    std::vector<std::byte> a, b;
    from.cache.append_state(a);
    to.cache.append_state(b);
    EXPECT_EQ(a, b);
  }
}

TEST(KvCache, BlocksThatAWindowHasLetGoAreMissedOnlyWhereTheyAreSeen) {
  NamedKeys from(100), to(100);
  from.fill(256, 50);
  EXPECT_EQ(from.cache.block(0), nullptr);
  EXPECT_EQ(from.cache.block(1), nullptr);
  share(from, to, 4);
  to.stage({256});
  EXPECT_EQ(to.seen(256, {0}).positions.front(), 157);
  EXPECT_FALSE(to.cache.can_truncate(200).ok());
  EXPECT_TRUE(to.cache.can_truncate(240).ok());
}

TEST(KvCache, GoingBackIntoASharedBlockWritesToACopyOfIt) {
  NamedKeys from(0), to(0);
  from.fill(128, 128);
  share(from, to, 2);
  ASSERT_TRUE(to.cache.truncate(100).ok());
  to.stage({7, 8, 9});
  to.cache.commit(std::vector<RowIndex>{0, 2});
  to.stage({11});
  from.stage({128});
  EXPECT_EQ(from.seen(128, {0}).names.at(100), 100.0F);
  EXPECT_EQ(from.seen(128, {0}).names.at(101), 101.0F);
  const auto seen = to.seen(102, {0});
  EXPECT_EQ(std::vector<float>(seen.names.end() - 4, seen.names.end()),
            (std::vector<float>{99, 7, 9, 11}));
}

TEST(KvCache, WhatAKeeperCountsIsNotCountedByTheCachesThatHoldIt) {
  NamedKeys keys(0), other(0);
  keys.fill(128, 128);
  const int64_t block = keys.cache.block_bytes();
  EXPECT_EQ(keys.cache.bytes(), 2 * block);
  EXPECT_EQ(keys.cache.bytes_at(128), 2 * block);
  EXPECT_EQ(keys.cache.bytes_at(129), 3 * block);
  const auto kept = keys.cache.block(0);
  ++kept->keepers;
  other.cache.append(kept);
  EXPECT_EQ(keys.cache.bytes(), block);
  EXPECT_EQ(other.cache.bytes(), 0);
  --kept->keepers;
  EXPECT_EQ(other.cache.bytes(), block);
}

TEST(KvCache, KeptPositionsStayInAWindowUntilTheyAreLetGo) {
  NamedKeys keys(10);
  keys.cache.keep_from(64);
  keys.fill(300, 60);
  EXPECT_EQ(keys.cache.block(0), nullptr);
  EXPECT_NE(keys.cache.block(1), nullptr);
  keys.cache.keep_from(192);
  EXPECT_EQ(keys.cache.block(2), nullptr);
  EXPECT_NE(keys.cache.block(3), nullptr);
}

TEST(KvCache, Bf16KeysAreRoundedWhenStaged) {
  NamedKeys keys(0, DType::kBf16);
  keys.stage({1.0F + 0x1p-9F});
  std::vector<KeySegment> segments;
  keys.cache.visible(0, std::vector<RowIndex>{0}, segments);
  uint16_t bits = 0;
  std::memcpy(&bits, segments.front().keys, 2);
  EXPECT_EQ(bits, 0x3F80U);
  EXPECT_EQ(segments.front().dtype, DType::kBf16);
}

}  // namespace
}  // namespace spindrift::nn
