#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tokenizer/config_node.h"

namespace spindrift {

// A half-open byte range of some text.
struct Span {
  size_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

// What a Split or Replace looks for: the non-overlapping matches of a text, in order.
class Pattern {
 public:
  virtual ~Pattern() = default;
  // Appends the matches of `text` (valid UTF-8, not empty). Matches may be empty. kLimit when a
  // regular expression needs more backtracking than any published one does.
  virtual Status find_all(std::string_view text, std::vector<Span>& matches) const = 0;
};

// {"String": "..."} or {"Regex": "..."} of tokenizer.json. A regular expression that is published
// with a model family gets a hand-written scanner with the same matches; any other runs on
// Oniguruma.
Result<std::unique_ptr<Pattern>> make_pattern(const ConfigNode& node);
std::unique_ptr<Pattern> make_literal_pattern(std::string literal);
// The hand-written scanner for exactly this expression, or null.
std::unique_ptr<Pattern> make_scanner(std::string_view expression);
// GPT-2's expression, which ByteLevel with use_regex applies.
extern const std::string_view kGpt2Expression;

}  // namespace spindrift
