#include "engine/ledger.h"

#include <gtest/gtest.h>

#include <vector>

namespace spindrift {
namespace {

TEST(Ledger, ALineHasIndexIdAndSixteenHexDigits) {
  EXPECT_EQ(ledger_line(3, 77, 0xABCDEF), "3 77 0000000000abcdef\n");
}

TEST(Ledger, TheHashSeesEveryBitOfTheRow) {
  const std::vector<float> a = {1.0F, 0.0F};
  const std::vector<float> b = {1.0F, -0.0F};
  EXPECT_NE(hash_logits(a), hash_logits(b));
  EXPECT_EQ(hash_logits(a), hash_logits(std::vector<float>{1.0F, 0.0F}));
}

TEST(Ledger, TheDigestDependsOnEveryLineAndTheirOrder) {
  Ledger a;
  Ledger b;
  EXPECT_EQ(a.digest(), "99aa06d3014798d86001c324468d497f");  // XXH3-128 of nothing
  a.add(1, 10);
  a.add(2, 20);
  b.add(2, 20);
  b.add(1, 10);
  EXPECT_NE(a.digest(), b.digest());
  EXPECT_EQ(a.digest().size(), 32U);
}

}  // namespace
}  // namespace spindrift
