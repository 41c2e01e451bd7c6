#include "core/utf8.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

TEST(Utf8, IsKnownFromWhatIsNot) {
  EXPECT_TRUE(valid_utf8(""));
  EXPECT_TRUE(valid_utf8("aé€\xf0\x9f\x98\x80"));
  for (const char* text : {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80"})
    EXPECT_FALSE(valid_utf8(text)) << text;
}

}  // namespace
}  // namespace spindrift
