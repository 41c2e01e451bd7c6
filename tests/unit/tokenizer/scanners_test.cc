#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tokenizer/pattern.h"
#include "tokenizer/regex.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr const char* kExpressions[] = {
    R"((?:\r?\n)+(?!\r?\n))",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
};

// Text that meets every branch often: few kinds of characters, so that they neighbour in every
// order.
std::string random_text(std::mt19937& random) {
  static const char32_t kinds[] = {
      '\'',  's',    'S',     0x17F,  't',     'r',     'e',      'E',  'v',    'm',
      'l',   'L',    'd',     'x',    ' ',     ' ',     '\r',     '\n', '\n',   '\t',
      0xA0,  0x2003, 0x3000,  0x85,   '1',     '2',     0x664,    0xBD, '!',    '.',
      0x301, 0x200D, 0x1F600, 0x4E00, 0x323AF, 0x1E4F9, 0x10FFFF, 0x41, 0x212A, 0xFB06};
  std::string text;
  const size_t length = random() % 40 + 1;
  for (size_t i = 0; i < length; ++i) {
    const char32_t c = random() % 20 == 0 ? static_cast<char32_t>(random() % 0xD800)
                                          : kinds[random() % std::size(kinds)];
    append_code_point(c, text);
  }
  return text;
}

TEST(Scanners, MatchWhatOnigurumaMatches) {
  std::mt19937 random(11);
  for (const char* expression : kExpressions) {
    const auto scanner = make_scanner(expression);
    ASSERT_NE(scanner, nullptr) << expression;
    const auto regex = compile_regex(expression, "test");
    ASSERT_TRUE(regex.ok()) << regex.error().message;
    for (int i = 0; i < 4000; ++i) {
      const std::string text = random_text(random);
      std::vector<Span> ours, theirs;
      ASSERT_TRUE(scanner->find_all(text, ours).ok());
      ASSERT_TRUE(regex.value()->find_all(text, theirs).ok());
      ASSERT_EQ(ours, theirs) << expression << " on " << testing::PrintToString(text);
    }
  }
}

TEST(Scanners, ServeOnlyTheExactExpression) {
  EXPECT_EQ(make_scanner(std::string(kExpressions[1]) + " "), nullptr);
  EXPECT_EQ(make_scanner(R"(\p{L}+)"), nullptr);
}

std::vector<Span> matches(const char* expression, std::string_view text) {
  const auto regex = compile_regex(expression, "test");
  EXPECT_TRUE(regex.ok()) << (regex.ok() ? "" : regex.error().message);
  std::vector<Span> found;
  if (regex.ok()) {
    EXPECT_TRUE(regex.value()->find_all(text, found).ok());
  }
  return found;
}

TEST(Regex, KnowsLettersDigitsAndSymbolsOfUnicode16) {
  EXPECT_EQ(matches(R"(\p{L}+)", "\U000323AF\U0002EBF0\U00016D40").size(), 1u);
  EXPECT_EQ(matches(R"(\P{L})", "\U000323AF").size(), 0u);
  EXPECT_EQ(matches(R"([^\p{L}\p{N}])", "\U000323AF\U0001E4F9").size(), 0u);
  EXPECT_EQ(matches(R"(\p{^N})", "\U0001E4F9").size(), 0u);
  EXPECT_EQ(matches(R"([\w])", "\U000323AF").size(), 1u);
  EXPECT_EQ(matches(R"(\W)", "\U000323AF").size(), 0u);
  EXPECT_EQ(matches(R"(\d)", "\U0001E4F9").size(), 1u);
  EXPECT_EQ(matches(R"(\D)", "\U0001E4F9").size(), 0u);
  EXPECT_EQ(matches(R"(\p{Mn})", "\U0001171E").size(), 0u);  // a spacing mark since Unicode 15
  EXPECT_EQ(matches(R"(\p{Mc})", "\U0001171E").size(), 1u);
  EXPECT_EQ(matches(R"([[:punct:]])", "$+").size(), 2u);
  EXPECT_EQ(matches(R"(\p{Letter}\p{lu})", "aB").size(), 1u);
}

TEST(Regex, LeavesEscapedBackslashesAlone) {
  EXPECT_EQ(matches(R"(\\p\{L\})", "\\p{L}").size(), 1u);
}

TEST(Regex, EmptyMatchesStepByCodePoints) {
  const std::vector<Span> expected{{0, 0}, {1, 1}, {3, 3}};
  EXPECT_EQ(matches("", "a\u00e9"), expected);
  const std::vector<Span> after_match{{0, 1}, {3, 3}};  // none right after a match
  EXPECT_EQ(matches("a*", "a\u00e9"), after_match);
}

TEST(Regex, RefusesWhatItCannotHonour) {
  const auto unknown = compile_regex(R"(\p{Alphabetic})", "file: key");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(unknown.error().message.find("file: key"), std::string::npos);
  EXPECT_NE(unknown.error().message.find("Alphabetic"), std::string::npos);
  const auto faulty = compile_regex("(", "file: key");
  ASSERT_FALSE(faulty.ok());
  EXPECT_EQ(faulty.error().code, ErrorCode::kInvalid);
}

TEST(Regex, EndlessBacktrackingIsAnErrorAndNotAHang) {
  const auto regex = compile_regex("(x+x+)+y", "file: key");
  ASSERT_TRUE(regex.ok());
  std::vector<Span> found;
  const Status status = regex.value()->find_all(std::string(40, 'x'), found);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kLimit);
}

TEST(Regex, ManyShortTextsShareOneBudget) {
  const auto regex = compile_regex("(a|aa)+b|c", "file: key");
  ASSERT_TRUE(regex.ok());
  SearchBudget budget(100000, /*seconds=*/60);
  std::vector<Span> found;
  int pieces = 0;
  while (pieces < 1000 && regex.value()->find_all(std::string(18, 'a'), budget, found).ok())
    ++pieces;
  EXPECT_GT(pieces, 1);
  EXPECT_LT(pieces, 100);
}

// A search of a long run of one letter is ended by the clock.
void expect_out_of_time(const char* pattern) {
  const auto regex = compile_regex(pattern, "file: key");
  ASSERT_TRUE(regex.ok());
  SearchBudget budget(size_t{1} << 40, /*seconds=*/0.001);
  std::vector<Span> found;
  const Status status = regex.value()->find_all(std::string(100000, 'a'), budget, found);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kLimit);
}

TEST(Regex, StepsThatTakeLongEndToo) { expect_out_of_time("(?:[a-z]{1,50}){1,50}[0-9]"); }

// No step is taken back: each match costs a walk to the end.
TEST(Regex, WalksThatNeverTurnBackEndToo) { expect_out_of_time("a++[b-d]|a"); }

TEST(Regex, LongRunsOfOrdinaryTextStayWithinTheLimits) {
  std::vector<Span> found;
  const std::string text =
      std::string(300000, 'a') + std::string(300000, ' ') + std::string(300000, '\n');
  for (const char* expression : kExpressions) {
    const auto regex = compile_regex(expression, "test");
    ASSERT_TRUE(regex.ok());
    found.clear();
    const Status status = regex.value()->find_all(text, found);
    EXPECT_TRUE(status.ok()) << status.error().message;
  }
}

}  // namespace
}  // namespace spindrift
