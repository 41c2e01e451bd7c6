#include "core/build_info.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace spindrift {
namespace {

TEST(BuildInfo, NamesVersionCompilerAndFlags) {
  const BuildInfo info = build_info();
  EXPECT_EQ(std::count(info.version.begin(), info.version.end(), '.'), 2) << info.version;
  EXPECT_NE(info.compiler.find(' '), std::string::npos);
  EXPECT_FALSE(info.flags.empty());
}

TEST(BuildInfo, CommitIsHexadecimalOrUnknown) {
  std::string commit(build_info().commit);
  if (commit == "unknown") return;
  if (commit.ends_with("-dirty")) commit.resize(commit.size() - 6);
  EXPECT_GE(commit.size(), 12U);
  EXPECT_EQ(commit.find_first_not_of("0123456789abcdef"), std::string::npos) << commit;
}

}  // namespace
}  // namespace spindrift
