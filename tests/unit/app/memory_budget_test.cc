#include "app/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spindrift {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

TEST(MemoryBudget, IsSomethingAndNoMoreThanTheMachineHas) {
  EXPECT_GT(memory_budget(), 0);
  EXPECT_LT(memory_budget(), int64_t{1} << 60);
}

TEST(MemoryBudget, WeightsThatFitNeedNoWarning) {
  EXPECT_FALSE(memory_warning("m", 4 * kGib, 4 * kGib).has_value());
}

TEST(MemoryBudget, AWarningSaysHowMuchComesFromDisk) {
  EXPECT_THAT(memory_warning("m", 20 * kGib, 15 * kGib).value_or(""),
              testing::AllOf(testing::HasSubstr("20.0 GiB"), testing::HasSubstr("15.0 GiB"),
                             testing::HasSubstr("25 %")));
}

TEST(MemoryBudget, CopiesMustFit) {
  EXPECT_TRUE(room_for_copies("m", 4 * kGib, 4 * kGib).ok());
  const Status refused = room_for_copies("m", 20 * kGib, 15 * kGib);
  EXPECT_EQ(refused.error().code, ErrorCode::kLimit);
  EXPECT_THAT(refused.error().message,
              testing::AllOf(testing::HasSubstr("20.0 GiB"), testing::HasSubstr("15.0 GiB")));
}

}  // namespace
}  // namespace spindrift
