#include "engine/prefix_cache.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

using Ids = std::vector<TokenId>;

// A block of 60 bytes without a window and 40 with one.
class Block final : public SharedBlock {
 public:
  explicit Block(int* alive) : alive_(alive) { ++*alive_; }
  ~Block() override { --*alive_; }
  int64_t bytes() const override { return whole_ ? 100 : 60; }
  bool whole() const override { return whole_; }
  void thin() override { whole_ = false; }
  int64_t thin_bytes() const override { return 60; }

 private:
  int* alive_;
  bool whole_ = true;
};

class PrefixCacheTest : public ::testing::Test {
 protected:
  PrefixCacheTest() { cache_.pin(*cache_.root()); }
  PrefixCache::Node* add(PrefixCache::Node* at, const Ids& ids, size_t tap_floats = 0) {
    TapRows taps{.rows = 1, .values = std::vector<float>(tap_floats)};
    return cache_.add(*at, ids, std::make_unique<Block>(&alive_), std::move(taps), true);
  }
  // As a request does: holds on to what it adds.
  PrefixCache::Node* add_pinned(PrefixCache::Node* at, const Ids& ids, size_t tap_floats = 0) {
    PrefixCache::Node* node = add(at, ids, tap_floats);
    if (node != nullptr) cache_.pin(*node);
    return node;
  }
  bool has(PrefixCache::Node* at, const Ids& ids) { return PrefixCache::find(*at, ids) != nullptr; }

  int alive_ = 0;
  PrefixCache cache_{350};
};

TEST_F(PrefixCacheTest, FindsABlockByAllOfItsIdsAndAllBeforeIt) {
  PrefixCache::Node* first = add(cache_.root(), {1, 2, 3});
  EXPECT_EQ(PrefixCache::find(*cache_.root(), Ids{1, 2, 3}), first);
  EXPECT_FALSE(has(cache_.root(), {1, 2, 4}));
  EXPECT_FALSE(has(cache_.root(), {1, 2}));
  cache_.pin(*first);
  add(first, {7, 8, 9});
  EXPECT_TRUE(has(first, {7, 8, 9}));
  EXPECT_FALSE(has(cache_.root(), {7, 8, 9}));
}

TEST_F(PrefixCacheTest, TheLongestUnusedBlockGoesFirst) {
  PrefixCache::Node* root = cache_.root();
  PrefixCache::Node* old = add(root, {1});
  add(root, {2});
  add(root, {3});
  cache_.touch(*old);
  add(root, {4});
  EXPECT_TRUE(has(root, {1}));
  EXPECT_FALSE(has(root, {2}));
  EXPECT_TRUE(has(root, {3}) && has(root, {4}));
  EXPECT_EQ(cache_.bytes(), 300);
  EXPECT_EQ(cache_.evictions(), 1);
  EXPECT_EQ(alive_, 3);
}

TEST_F(PrefixCacheTest, WhatLeadsToABlockStaysAsLongAsTheBlock) {
  PrefixCache::Node* first = add_pinned(cache_.root(), {1});
  PrefixCache::Node* second = add_pinned(first, {2});
  cache_.unpin(*first);
  cache_.unpin(*second);
  add(cache_.root(), {3});
  add(cache_.root(), {4});
  EXPECT_TRUE(has(cache_.root(), {1}));
  EXPECT_FALSE(has(first, {2}));
  add(cache_.root(), {5});
  EXPECT_FALSE(has(cache_.root(), {1}));
}

TEST_F(PrefixCacheTest, PinnedBlocksLoseTheirPartsForWindowsAndDraftersOnly) {
  PrefixCache::Node* first = add_pinned(cache_.root(), {1}, 10);
  PrefixCache::Node* second = add_pinned(first, {2});
  PrefixCache::Node* third = add_pinned(second, {3});
  EXPECT_EQ(cache_.bytes(), 340);
  EXPECT_EQ(cache_.pinned_bytes(), 180);
  EXPECT_NE(add(third, {4}), nullptr);
  EXPECT_FALSE(first->block->whole());
  EXPECT_FALSE(first->has_taps);
  EXPECT_TRUE(third->block->whole());
  while (cache_.evict()) continue;
  EXPECT_EQ(cache_.bytes(), 180);
  EXPECT_EQ(alive_, 3);
  EXPECT_EQ(cache_.pinned_bytes(Ids{1, 2, 9}, 1), 120);
  for (PrefixCache::Node* node : {first, second, third}) cache_.unpin(*node);
  EXPECT_EQ(cache_.pinned_bytes(), 0);
  while (cache_.evict()) continue;
  EXPECT_EQ(cache_.bytes(), 0);
  EXPECT_EQ(alive_, 0);
}

TEST_F(PrefixCacheTest, ABlockThatCannotFitIsNotAdded) {
  PrefixCache::Node* at = cache_.root();
  for (TokenId i = 0; i < 5; ++i) at = add_pinned(at, {i});
  EXPECT_EQ(add(at, {9}), nullptr);
  EXPECT_LE(cache_.bytes(), 350);
  EXPECT_EQ(alive_, 5);
}

TEST_F(PrefixCacheTest, AddingABlockAgainGivesBackThePartsItLost) {
  PrefixCache::Node* first = add_pinned(cache_.root(), {1}, 10);
  ASSERT_TRUE(cache_.evict());
  ASSERT_FALSE(first->block->whole());
  EXPECT_EQ(add(cache_.root(), {1}, 10), first);
  EXPECT_TRUE(first->block->whole());
  EXPECT_TRUE(first->has_taps);
  EXPECT_EQ(cache_.bytes(), 140);
  EXPECT_EQ(alive_, 1);
}

TEST_F(PrefixCacheTest, ADeepConversationIsFreedWithoutADeepStack) {
  PrefixCache big(int64_t{1} << 40);
  PrefixCache::Node* at = big.root();
  big.pin(*at);
  for (int i = 0; i < 20000; ++i) {
    PrefixCache::Node* next =
        big.add(*at, Ids{1}, std::make_unique<Block>(&alive_), TapRows{}, true);
    ++next->users;  // as pin(), without the walk to the root
    at = next;
  }
  EXPECT_EQ(alive_, 20000);
}

}  // namespace
}  // namespace spindrift
