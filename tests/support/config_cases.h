#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "io/json_config.h"

// What every reader of a config.json is held to.
namespace spindrift::testing {

inline constexpr const char* kConfigFile = "dir/config.json";

// `text` with its one occurrence of `from` replaced.
inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at == std::string::npos) return out;
  EXPECT_EQ(out.find(from, at + 1), std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

// A change that breaks one rule of a valid config.
struct Violation {
  std::string_view from, to;
  ErrorCode code;
  std::string_view named;  // the key in the message
};

// A family's reader of a config.json, and a text that it takes.
template <class Config>
struct ConfigReader {
  std::string_view valid;
  Result<Config> (*read)(const JsonObject&);

  Result<Config> parse(std::string_view text) const {
    auto json = JsonObject::parse(text, kConfigFile);
    if (!json.ok()) return json.error();
    return read(json.value());
  }

  std::string with(std::string_view from, std::string_view to) const {
    return replaced(valid, from, to);
  }

  // What is read from a text that is to be taken.
  Config taken(std::string_view text) const {
    auto config = parse(text);
    if (config.ok()) return std::move(config).value();
    ADD_FAILURE() << config.error().message;
    return {};
  }

  // Each violation is an error of its code, in one line that names file, key and what was found.
  void expect_refused(const std::vector<Violation>& violations) const {
    for (const Violation& v : violations) {
      SCOPED_TRACE(std::string(v.from) + " -> " + std::string(v.to));
      const auto config = parse(with(v.from, v.to));
      ASSERT_FALSE(config.ok());
      const Error& error = config.error();
      EXPECT_EQ(error.code, v.code) << error.message;
      EXPECT_NE(error.message.find(kConfigFile), std::string::npos) << error.message;
      EXPECT_NE(error.message.find('`' + std::string(v.named) + '`'), std::string::npos)
          << error.message;
      EXPECT_NE(error.message.find("found"), std::string::npos) << error.message;
      EXPECT_EQ(error.message.find('\n'), std::string::npos);
    }
  }

  // check(name, JsonObject, Config) of each *.config.json in a folder whose model_type is among
  // `types` (empty: of each); how many they were.
  template <class Check>
  int expect_published(const std::filesystem::path& folder,
                       const std::vector<std::string_view>& types, const Check& check) const {
    int read_files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".config.json")) continue;
      SCOPED_TRACE(name);
      const auto json = JsonObject::parse_file(entry.path());
      EXPECT_TRUE(json.ok()) << json.error().message;
      if (!json.ok()) continue;
      const auto type = json.value().get_string("model_type");
      if (!types.empty() && std::find(types.begin(), types.end(), type.value()) == types.end())
        continue;
      const auto config = read(json.value());
      EXPECT_TRUE(config.ok()) << config.error().message;
      if (!config.ok()) continue;
      check(name, json.value(), config.value());
      ++read_files;
    }
    return read_files;
  }
};

// A target that a drafter was not made for.
template <class Facts>
struct Mismatch {
  void (*change)(Facts&);
  std::string_view named;  // in the message
};

// check(Facts) takes `facts` and refuses each change to them, naming file and key.
template <class Facts, class Check>
void expect_mismatches(const Facts& facts, const std::vector<Mismatch<Facts>>& mismatches,
                       const Check& check) {
  EXPECT_TRUE(check(facts).ok());
  for (const Mismatch<Facts>& mismatch : mismatches) {
    SCOPED_TRACE(std::string(mismatch.named));
    Facts other = facts;
    mismatch.change(other);
    const Status status = check(other);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
    EXPECT_NE(status.error().message.find('`' + std::string(mismatch.named) + '`'),
              std::string::npos)
        << status.error().message;
    EXPECT_NE(status.error().message.find(kConfigFile), std::string::npos);
  }
}

}  // namespace spindrift::testing
