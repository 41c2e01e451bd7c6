#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace spindrift::nn {

// A pattern for module names as quantization configs write them: `re:` and a regular expression
// that must match from the name's first character on, or without `re:` a whole name.
//
// Expressions may have literals, `.`, `^`, `$`, `\d \w \s` and escaped punctuation, classes with
// ranges and negation, groups, `|`, `*`, `+` and `?`. They run as an automaton: the time is linear
// in the name, whatever the pattern. Anything else (counts, look-around, back references, patterns
// of more than kMaxBytes) is kUnsupported.
class NamePattern {
 public:
  static constexpr size_t kMaxBytes = 1024;

  static Result<NamePattern> parse(std::string_view text);

  bool matches(std::string_view name) const;
  const std::string& text() const { return text_; }  // as the config has it

 private:
  friend class PatternCompiler;
  enum class Op : uint8_t { kByte, kSplit, kJump, kBegin, kEnd, kMatch };
  struct Step {
    Op op = Op::kMatch;
    uint32_t a = 0, b = 0;  // kByte: index into sets_; kSplit: both targets; kJump: the target
  };
  using Bytes = std::bitset<256>;

  std::string text_;
  std::string tail_;         // what a name must end with to match, as far as that is plain
  std::vector<Step> steps_;  // empty: the whole text is the name
  std::vector<Bytes> sets_;
};

}  // namespace spindrift::nn
