#pragma once

#include <gtest/gtest.h>

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

// parse(JsonObject) of a text.
template <class Parse>
auto parse_text(std::string_view text, const Parse& parse)
    -> decltype(parse(std::declval<JsonObject>())) {
  auto json = JsonObject::parse(text, kConfigFile);
  if (!json.ok()) return json.error();
  return parse(json.value());
}

// A change that breaks one rule of a valid config.
struct Violation {
  std::string_view from, to;
  ErrorCode code;
  std::string_view named;  // the key in the message
};

// Each violation is an error of its code, in one line that names file, key and what was found.
template <class Parse>
void expect_violations(std::string_view valid, const std::vector<Violation>& violations,
                       const Parse& parse) {
  for (const Violation& v : violations) {
    SCOPED_TRACE(std::string(v.from) + " -> " + std::string(v.to));
    const auto config = parse_text(replaced(valid, v.from, v.to), parse);
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
