#include "chat/jinja/bigint.h"

#include <gtest/gtest.h>

#include "chat/jinja/error.h"

namespace spindrift::jinja {
namespace {

BigInt big(std::string_view digits) { return BigInt::from_digits(digits); }

TEST(BigInt, SumsAndProductsCarryAcrossLimbs) {
  EXPECT_EQ((big("4294967295") + big("1")).to_string(), "4294967296");
  EXPECT_EQ((big("18446744073709551615") + big("1")).to_string(), "18446744073709551616");
  EXPECT_EQ((big("18446744073709551616") - big("1")).to_string(), "18446744073709551615");
  EXPECT_EQ(
      (big("123456789012345678901234567890") * big("-987654321098765432109876543210")).to_string(),
      "-121932631137021795226185032733622923332237463801111263526900");
}

TEST(BigInt, DivisionRoundsTowardsMinusInfinity) {
  for (const int64_t a : {7, -7, 0, 1000000007})
    for (const int64_t b : {2, -2, 3, -1000000007}) {
      BigInt quotient;
      BigInt rest;
      BigInt::divmod(BigInt(a), BigInt(b), &quotient, &rest);
      EXPECT_EQ((quotient * BigInt(b) + rest).to_int64(), a);
      EXPECT_TRUE(rest.zero() || rest.negative() == (b < 0));
      EXPECT_LT(compare(rest.negative() ? -rest : rest, b < 0 ? BigInt(-b) : BigInt(b)), 0);
    }
}

TEST(BigInt, LongDivisionGivesBackTheDividend) {
  const BigInt a = BigInt::pow(BigInt(7), 300) + BigInt(12345);
  const BigInt b = BigInt::pow(BigInt(-3), 101);
  BigInt quotient;
  BigInt rest;
  BigInt::divmod(a, b, &quotient, &rest);
  EXPECT_EQ(compare(quotient * b + rest, a), 0);
}

TEST(BigInt, DoublesAreTheNearestTiesToEven) {
  EXPECT_EQ(big("9007199254740993").to_double(), 9007199254740992.0);
  EXPECT_EQ(big("9007199254740995").to_double(), 9007199254740996.0);
  EXPECT_EQ(big("9007199254740993000000000000001").to_double(), 9007199254740993000000000000001.0);
  EXPECT_EQ(BigInt::from_double_trunc(-1e22).to_string(), "-10000000000000000000000");
  EXPECT_EQ(BigInt::true_divide(big("123456789012345678901234567890"), big("3")),
            4.115226300411523e+28);
  EXPECT_EQ(BigInt::true_divide(big("-1"), big("3")), -1.0 / 3.0);
}

TEST(BigInt, TheSmallestInt64SurvivesTheRoundTrip) {
  const int64_t smallest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(BigInt(smallest).to_int64(), smallest);
  EXPECT_EQ((BigInt(smallest) - BigInt(1)).to_int64(), std::nullopt);
  EXPECT_EQ(BigInt(smallest).to_string(), "-9223372036854775808");
}

TEST(BigInt, GrowthIsBounded) {
  EXPECT_THROW(BigInt::pow(BigInt(10), 1000000), TemplateError);
  EXPECT_THROW(BigInt::pow(BigInt(2), uint64_t{1} << 40), TemplateError);
  EXPECT_EQ(BigInt::pow(BigInt(-1), uint64_t{1} << 40).to_string(), "1");
}

}  // namespace
}  // namespace spindrift::jinja
