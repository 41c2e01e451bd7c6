#include "app/pair_warnings.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

TEST(PrecisionWords, AreThoseOfTheNameAndNotOfItsFolder) {
  EXPECT_EQ(precision_words("poolside/Laguna-XS.2-INT4"), "int4");
  EXPECT_EQ(precision_words("poolside/Laguna-XS.2-INT4@main"), "int4");
  EXPECT_EQ(precision_words("/fp8/models/Laguna-XS.2-NVFP4-mlx/"), "nvfp4");
  EXPECT_EQ(precision_words("mlx-community/Laguna-XS.2-4bit"), "4bit");
  EXPECT_EQ(precision_words("models/pint4"), "");
  EXPECT_EQ(precision_words(""), "");
}

TEST(RotatedPairs, WarnUnlessBothNameTheSamePrecision) {
  EXPECT_FALSE(rotated_pair_warning("org/Laguna-XS-2.1-INT4", "org/Laguna-XS-2.1-DFlash-INT4"));
  const auto other = rotated_pair_warning("org/Laguna-XS-2.1-INT4", "org/Laguna-XS-2.1-DFlash-FP8");
  ASSERT_TRUE(other);
  EXPECT_NE(other->find("int4"), std::string::npos);
  EXPECT_NE(other->find("fp8"), std::string::npos);
  EXPECT_TRUE(rotated_pair_warning("org/Laguna-XS-2.1-INT4", "org/Laguna-XS-2.1-DFlash"));
  EXPECT_TRUE(rotated_pair_warning("models/a", "models/b"));
}

TEST(UnlikelyPairs, WarnOnceEnoughRoundsHitNextToNothing) {
  const auto warning = [](int64_t rounds, int64_t accepted) {
    DraftStats stats;
    stats.rounds = rounds;
    stats.accepted = accepted;
    return unlikely_pair_warning("org/base", "org/head", stats);
  };
  EXPECT_FALSE(warning(0, 0));
  EXPECT_FALSE(warning(4, 0));
  EXPECT_FALSE(warning(5, 1));
  EXPECT_FALSE(warning(100, 40));
  ASSERT_TRUE(warning(5, 0));
  EXPECT_NE(warning(5, 0)->find("org/head: expected a drafter that was made for org/base"),
            std::string::npos);
  EXPECT_NE(warning(40, 2)->find("40 drafted rounds that accepted 2 tokens"), std::string::npos);
}

}  // namespace
}  // namespace spindrift
