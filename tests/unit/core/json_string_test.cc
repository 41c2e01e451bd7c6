#include "core/json_string.h"

#include <gtest/gtest.h>

namespace spindrift {
namespace {

std::string spelled(std::string_view text) {
  std::string out = "x";
  append_json_string(text, out);
  return out;
}

TEST(JsonString, EscapesQuotesBackslashesAndControlCharactersOnly) {
  EXPECT_EQ(spelled(R"(a"b\c/)"), R"(x"a\"b\\c/")");
  EXPECT_EQ(spelled(std::string_view("\0\n\x1f\x7f", 4)), R"(x"\u0000\u000a\u001f\u007f")");
  EXPECT_EQ(spelled("é日"), "x\"é日\"");
}

}  // namespace
}  // namespace spindrift
