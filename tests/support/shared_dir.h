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

// A model by the path of its folder under the repository's models/ or tests/golden/, else under
// models/ of the shared ones, where it may be missing.
inline std::filesystem::path model_folder(const std::filesystem::path& name) {
  for (const char* own : {"models", "tests/golden"}) {
    const std::filesystem::path folder = repo_dir() / own / name;
    if (std::filesystem::is_directory(folder)) return folder;
  }
  return shared_dir_setting() / "models" / name;
}

}  // namespace spindrift::testing

// SPINDRIFT_SHARED_OR_SKIP(variable, "models/laguna-tiny-bf16"): declares `variable`, or skips the
// test and names the path that is missing. Use it in a TEST body (or a fixture's SetUp), not in a
// helper that returns a value.
#define SPINDRIFT_SHARED_OR_SKIP(variable, relative) \
  SPINDRIFT_PATH_OR_SKIP(variable, ::spindrift::testing::shared_dir_setting() / (relative))

// The same for a model that the repository may have: SPINDRIFT_MODEL_OR_SKIP(folder,
// "granite-tiny").
#define SPINDRIFT_MODEL_OR_SKIP(variable, name) \
  SPINDRIFT_PATH_OR_SKIP(variable, ::spindrift::testing::model_folder(name))

#define SPINDRIFT_PATH_OR_SKIP(variable, wanted)                    \
  const std::filesystem::path variable = (wanted);                  \
  if (!std::filesystem::exists(variable))                           \
  GTEST_SKIP() << "SKIPPED FOR LACK OF DATA: " << variable.string() \
               << " does not exist; set SPINDRIFT_SHARED "          \
               << "to the folder that holds the shared models"
