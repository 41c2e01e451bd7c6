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

// What the searches of one text may cost together, far more than any published expression needs.
// Only regular expressions spend it.
class SearchBudget {
 public:
  // Grows with the text, so that time stays linear.
  explicit SearchBudget(size_t text_bytes);
  // Backtracking steps, and seconds that this thread may compute.
  SearchBudget(size_t steps, double seconds) : steps_(steps), seconds_(seconds) {}

  // False when there are fewer steps left.
  bool spend(size_t steps);
  // Counts from the first call. A backtracking step may cost a long way forward.
  bool out_of_time();

 private:
  size_t steps_;
  double seconds_;
  double start_ = -1;
};

// What a Split or Replace looks for: the non-overlapping matches of a text, in order.
class Pattern {
 public:
  virtual ~Pattern() = default;
  // Appends the matches of `text` (valid UTF-8, not empty). Matches may be empty. kLimit when a
  // regular expression exceeds the budget.
  Status find_all(std::string_view text, SearchBudget& budget, std::vector<Span>& matches) const {
    return search(text, budget, matches);
  }
  Status find_all(std::string_view text, std::vector<Span>& matches) const {
    SearchBudget budget(text.size());
    return search(text, budget, matches);
  }

 private:
  virtual Status search(std::string_view text, SearchBudget& budget,
                        std::vector<Span>& matches) const = 0;
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
