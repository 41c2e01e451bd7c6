#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

namespace spindrift::testing {

// The root of the source tree this test was built from. Demo models live under repo_dir() /
// "models".
std::filesystem::path repo_dir();

// Where the shared models and references are looked for: the environment variable SPINDRIFT_SHARED,
// else the folder `shared` beside the source tree. The path may not exist.
inline std::filesystem::path shared_dir_setting() {
  const char* setting = std::getenv("SPINDRIFT_SHARED");
  if (setting != nullptr && *setting != '\0') return setting;
  return (repo_dir() / ".." / "shared").lexically_normal();
}

// The shared folder when this machine has it.
inline std::optional<std::filesystem::path> shared_dir() {
  std::error_code ignored;
  const std::filesystem::path dir = shared_dir_setting();
  if (!std::filesystem::is_directory(dir, ignored)) return std::nullopt;
  return dir;
}

}  // namespace spindrift::testing

// SPINDRIFT_SHARED_OR_SKIP(variable, "models/laguna-tiny-bf16"): declares `variable`, or skips the
// test and names the path that is missing. Use it in a TEST body (or a fixture's SetUp), not in a
// helper that returns a value.
#define SPINDRIFT_SHARED_OR_SKIP(variable, relative)                                              \
  const std::filesystem::path variable = ::spindrift::testing::shared_dir_setting() / (relative); \
  if (!std::filesystem::exists(variable))                                                         \
  GTEST_SKIP() << "SKIPPED FOR LACK OF DATA: " << variable.string()                               \
               << " does not exist; set SPINDRIFT_SHARED "                                        \
               << "to the folder that holds the shared models"
