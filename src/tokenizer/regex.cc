#include "tokenizer/regex.h"

#include <oniguruma.h>

#include <algorithm>
#include <ctime>
#include <mutex>
#include <string>

#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr size_t kMaxExpressionBytes = 64 * 1024;
// Backtracking steps. A search starts with a small allowance and is repeated with a larger one when
// that was not enough; what failed is spent from the budget.
constexpr unsigned long kFirstAllowance = 512;
constexpr unsigned long kAllowanceGrowth = 4;
constexpr size_t kStepsBase = size_t{1} << 21;
constexpr size_t kStepsPerByte = 256;
constexpr double kSecondsBase = 2;
constexpr double kSecondsPerByte = 4e-6;
// Matches between looks at the clock: going forward takes no steps, so an expression without a way
// back (`a++b|a`) can cost a walk to the end for each match.
constexpr int kMatchesPerLook = 64;
constexpr size_t kStackBase = size_t{1} << 18;
constexpr size_t kStackPerByte = 4;

const OnigUChar* bytes_of(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

std::string describe(int code) {
  OnigUChar message[ONIG_MAX_ERROR_MESSAGE_LEN] = {};
  const int length = onig_error_code_to_str(message, code);
  return {reinterpret_cast<const char*>(message), static_cast<size_t>(std::max(length, 0))};
}

double thread_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void initialize_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_parse_depth_limit(256);
  });
}

class OnigPattern : public Pattern {
 public:
  explicit OnigPattern(regex_t* regex) : regex_(regex) {}
  ~OnigPattern() override { onig_free(regex_); }
  OnigPattern(const OnigPattern&) = delete;
  OnigPattern& operator=(const OnigPattern&) = delete;

 private:
  Status search(std::string_view text, SearchBudget& budget,
                std::vector<Span>& matches) const override {
    Search search(text, budget);
    size_t from = 0;
    size_t last_end = std::string_view::npos;
    while (from <= text.size()) {
      const int found = search.run(regex_, text, from);
      if (found == ONIG_MISMATCH) break;
      if (found < 0) {
        return Error{ErrorCode::kLimit,
                     "text to tokenize: a regular expression of the tokenizer failed on " +
                         std::to_string(text.size()) + " bytes: " + describe(found)};
      }
      const auto begin = static_cast<size_t>(search.region->beg[0]);
      const auto end = static_cast<size_t>(search.region->end[0]);
      if (begin == end && end == last_end) {  // no empty match right after a match
        from += from < text.size() ? code_point_at(text, from).bytes : 1;
        continue;
      }
      from = last_end = end;
      matches.push_back({begin, end});
    }
    return ok_status();
  }

  struct Search {
    Search(std::string_view text, SearchBudget& whole)
        : region(onig_region_new()), params(onig_new_match_param()), budget(whole) {
      onig_initialize_match_param(params);
      const size_t stack = kStackBase + kStackPerByte * text.size();
      onig_set_match_stack_limit_size_of_match_param(
          params, static_cast<unsigned>(std::min<size_t>(stack, 1u << 30)));
    }
    ~Search() {
      onig_free_match_param(params);
      onig_region_free(region, 1);
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    int run(regex_t* regex, std::string_view text, size_t from) {
      if (++runs % kMatchesPerLook == 0 && budget.out_of_time())
        return ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
      for (unsigned long allowance = kFirstAllowance;; allowance *= kAllowanceGrowth) {
        onig_set_retry_limit_in_match_of_match_param(params, allowance);
        onig_set_retry_limit_in_search_of_match_param(params, allowance);
        const OnigUChar* begin = bytes_of(text);
        const int found =
            onig_search_with_param(regex, begin, begin + text.size(), begin + from,
                                   begin + text.size(), region, ONIG_OPTION_NONE, params);
        if (found != ONIGERR_RETRY_LIMIT_IN_MATCH_OVER &&
            found != ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER) {
          return found;
        }
        if (!budget.spend(allowance) || budget.out_of_time()) return found;
      }
    }

    OnigRegion* region;
    OnigMatchParam* params;
    SearchBudget& budget;
    int runs = 0;
  };

  regex_t* regex_;
};

}  // namespace

SearchBudget::SearchBudget(size_t text_bytes)
    : steps_(kStepsBase + kStepsPerByte * text_bytes),
      seconds_(kSecondsBase + kSecondsPerByte * static_cast<double>(text_bytes)) {}

bool SearchBudget::spend(size_t steps) {
  if (steps > steps_) return false;
  steps_ -= steps;
  return true;
}

bool SearchBudget::out_of_time() {
  const double now = thread_seconds();
  if (start_ < 0) start_ = now;
  return now - start_ > seconds_;
}

Result<std::unique_ptr<Pattern>> compile_regex(std::string_view expression,
                                               std::string_view where) {
  if (expression.size() > kMaxExpressionBytes) {
    return Error{ErrorCode::kLimit, std::string(where) +
                                        ": expected a regular expression of at most " +
                                        std::to_string(kMaxExpressionBytes) + " bytes, found " +
                                        std::to_string(expression.size())};
  }
  initialize_once();
  SPINDRIFT_TRY(const std::string widened, widen_properties(expression, where));
  regex_t* regex = nullptr;
  OnigErrorInfo info = {};
  const OnigUChar* begin = bytes_of(widened);
  const int code = onig_new(&regex, begin, begin + widened.size(), ONIG_OPTION_NONE,
                            ONIG_ENCODING_UTF8, ONIG_SYNTAX_DEFAULT, &info);
  if (code != ONIG_NORMAL) {
    OnigUChar message[ONIG_MAX_ERROR_MESSAGE_LEN] = {};
    const int length = onig_error_code_to_str(message, code, &info);
    return Error{ErrorCode::kInvalid, std::string(where) +
                                          ": expected a regular expression, found a faulty one: " +
                                          std::string(reinterpret_cast<const char*>(message),
                                                      static_cast<size_t>(std::max(length, 0)))};
  }
  return std::unique_ptr<Pattern>(std::make_unique<OnigPattern>(regex));
}

}  // namespace spindrift
