#include "chat/jinja/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "chat/jinja/error.h"

namespace spindrift::jinja {
namespace {

struct SpecialCase {
  char32_t from;
  std::array<char32_t, 3> to;  // zero-terminated when shorter
};
struct CodeRange {
  char32_t first, last;
};
#include "chat/jinja/case_tables.inc"

template <size_t N>
bool in_ranges(const CodeRange (&table)[N], char32_t c) {
  const auto* at = std::upper_bound(std::begin(table), std::end(table), c,
                                    [](char32_t x, const CodeRange& r) { return x < r.first; });
  return at != std::begin(table) && c <= (at - 1)->last;
}

template <size_t N>
bool append_special(const SpecialCase (&table)[N], char32_t c, std::string* out) {
  const auto* at = std::lower_bound(std::begin(table), std::end(table), c,
                                    [](const SpecialCase& s, char32_t x) { return s.from < x; });
  if (at == std::end(table) || at->from != c) return false;
  for (char32_t to : at->to)
    if (to != 0) append_code_point(to, out);
  return true;
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

void append_upper(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
  } else if (!append_special(kUpperSpecial, c, out)) {
    append_code_point(static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))),
                      out);
  }
}

void append_title(char32_t c, std::string* out) {
  if (!append_special(kTitleSpecial, c, out))
    append_code_point(static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))),
                      out);
}

bool is_cased(char32_t c) { return is_lower(c) || is_upper(c) || is_title(c); }

// Unicode's Case_Ignorable: marks, format characters, modifiers and the word-internal punctuation.
bool is_case_ignorable(char32_t c) {
  switch (category(c)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      return c == '\'' || c == '.' || c == ':' || c == 0xB7 || c == 0x387 || c == 0x55F ||
             c == 0x5F4 || c == 0x2018 || c == 0x2019 || c == 0x2024 || c == 0x2027 ||
             c == 0xFE13 || c == 0xFE52 || c == 0xFE55 || c == 0xFF07 || c == 0xFF0E || c == 0xFF1A;
  }
}

// Greek sigma at the end of a word has its own small form.
bool sigma_is_final(std::string_view text, size_t before, size_t after) {
  bool cased_before = false;
  for (size_t at = before; at > 0;) {
    do --at;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
    size_t read = at;
    const char32_t c = next_code_point(text, &read);
    if (is_case_ignorable(c)) continue;
    cased_before = is_cased(c);
    break;
  }
  if (!cased_before) return false;
  while (after < text.size()) {
    const char32_t c = next_code_point(text, &after);
    if (is_case_ignorable(c)) continue;
    return !is_cased(c);
  }
  return true;
}

// `end` is the offset behind the code point c that ends there.
void append_lower(std::string_view text, size_t begin, size_t end, char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
  } else if (c == 0x130) {
    out->append("i\xCC\x87");
  } else if (c == 0x3A3) {
    append_code_point(sigma_is_final(text, begin, end) ? 0x3C2 : 0x3C3, out);
  } else {
    append_code_point(static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))),
                      out);
  }
}

size_t previous_code_point(std::string_view text, size_t at) {
  do --at;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U);
  return at;
}

std::vector<std::string_view> split_space(std::string_view text, int64_t max) {
  std::vector<std::string_view> out;
  size_t at = 0;
  const auto skip_space = [&] {
    while (at < text.size()) {
      size_t read = at;
      if (!is_space(next_code_point(text, &read))) break;
      at = read;
    }
  };
  skip_space();
  while (at < text.size()) {
    if (max >= 0 && static_cast<int64_t>(out.size()) == max) {
      out.push_back(strip(text.substr(at), std::nullopt, false, true));
      return out;
    }
    const size_t begin = at;
    while (at < text.size()) {
      size_t read = at;
      if (is_space(next_code_point(text, &read))) break;
      at = read;
    }
    out.push_back(text.substr(begin, at - begin));
    skip_space();
  }
  return out;
}

std::vector<std::string_view> rsplit_space(std::string_view text, int64_t max) {
  std::vector<std::string_view> out;
  std::string_view rest = strip(text, std::nullopt, false, true);
  while (!rest.empty()) {
    if (max >= 0 && static_cast<int64_t>(out.size()) == max) {
      out.push_back(rest);
      break;
    }
    size_t begin = rest.size();
    while (begin > 0) {
      const size_t previous = previous_code_point(rest, begin);
      size_t read = previous;
      if (is_space(next_code_point(rest, &read))) break;
      begin = previous;
    }
    out.push_back(rest.substr(begin));
    rest = strip(rest.substr(0, begin), std::nullopt, false, true);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
  return count;
}

char32_t next_code_point(std::string_view text, size_t* at) {
  const auto lead = static_cast<unsigned char>(text[(*at)++]);
  if (lead < 0x80) return lead;
  const size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  char32_t c = lead & (0x3FU >> more);
  for (size_t k = 0; k < more && *at < text.size(); ++k)
    c = (c << 6) | (static_cast<unsigned char>(text[(*at)++]) & 0x3FU);
  return c;
}

void append_code_point(char32_t c, std::string* out) {
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0U | (c >> 6)));
    out->push_back(static_cast<char>(0x80U | (c & 0x3FU)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0U | (c >> 12)));
    out->push_back(static_cast<char>(0x80U | ((c >> 6) & 0x3FU)));
    out->push_back(static_cast<char>(0x80U | (c & 0x3FU)));
  } else {
    out->push_back(static_cast<char>(0xF0U | (c >> 18)));
    out->push_back(static_cast<char>(0x80U | ((c >> 12) & 0x3FU)));
    out->push_back(static_cast<char>(0x80U | ((c >> 6) & 0x3FU)));
    out->push_back(static_cast<char>(0x80U | (c & 0x3FU)));
  }
}

size_t byte_offset(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  }
  return at;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool is_printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (category(c)) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

bool is_alpha(char32_t c) {
  if (c < 0x80) return (c | 0x20U) >= 'a' && (c | 0x20U) <= 'z';
  const utf8proc_category_t cat = category(c);
  return cat == UTF8PROC_CATEGORY_LU || cat == UTF8PROC_CATEGORY_LL ||
         cat == UTF8PROC_CATEGORY_LT || cat == UTF8PROC_CATEGORY_LM || cat == UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) {
  return c < 0x80 ? c >= '0' && c <= '9' : category(c) == UTF8PROC_CATEGORY_ND;
}
bool is_digit(char32_t c) { return is_decimal(c) || in_ranges(kDigitNotDecimal, c); }
bool is_numeric(char32_t c) {
  if (c < 0x80) return is_decimal(c);
  const utf8proc_category_t cat = category(c);
  return cat == UTF8PROC_CATEGORY_ND || cat == UTF8PROC_CATEGORY_NL ||
         cat == UTF8PROC_CATEGORY_NO || in_ranges(kNumericLetter, c);
}
bool is_lower(char32_t c) {
  if (c < 0x80) return c >= 'a' && c <= 'z';
  return category(c) == UTF8PROC_CATEGORY_LL || in_ranges(kOtherLower, c);
}
bool is_upper(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z';
  return category(c) == UTF8PROC_CATEGORY_LU || in_ranges(kOtherUpper, c);
}
bool is_title(char32_t c) { return c >= 0x80 && category(c) == UTF8PROC_CATEGORY_LT; }
bool is_word(char32_t c) { return c == '_' || is_alpha(c) || is_numeric(c); }

bool is_identifier(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const bool first = at == 0;
    const char32_t c = next_code_point(text, &at);
    if (c == '_' || is_alpha(c) || category(c) == UTF8PROC_CATEGORY_NL) continue;
    const utf8proc_category_t cat = category(c);
    if (first || !(cat == UTF8PROC_CATEGORY_MN || cat == UTF8PROC_CATEGORY_MC ||
                   cat == UTF8PROC_CATEGORY_ND || cat == UTF8PROC_CATEGORY_PC || c == 0xB7))
      return false;
  }
  return !text.empty();
}

int decimal_value(char32_t c) {
  if (!is_decimal(c)) return -1;
  if (c < 0x80) return static_cast<int>(c - '0');
  int value = 0;  // decimal digits of a script are ten neighbours in ascending order
  while (value < 9 && is_decimal(c - 1 - static_cast<char32_t>(value))) ++value;
  if (c >= 0x1D7CE && c <= 0x1D7FF) return static_cast<int>((c - 0x1D7CE) % 10);
  return value;
}

std::string upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) append_upper(next_code_point(text, &at), &out);
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, &at);
    append_lower(text, begin, at, c, &out);
  }
  return out;
}

std::string capitalize(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, &at);
    if (begin == 0)
      append_title(c, &out);
    else
      append_lower(text, begin, at, c, &out);
  }
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, &at);
    if (inside)
      append_lower(text, begin, at, c, &out);
    else
      append_title(c, &out);
    inside = is_cased(c);
  }
  return out;
}

std::string swapcase(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, &at);
    if (is_upper(c))
      append_lower(text, begin, at, c, &out);
    else if (is_lower(c))
      append_upper(c, &out);
    else
      append_code_point(c, &out);
  }
  return out;
}

std::string casefold(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, &at);
    utf8proc_int32_t folded[4];
    int boundary = 0;
    const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded,
                                                           4, UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < std::min<utf8proc_ssize_t>(count, 4); ++i)
      append_code_point(static_cast<char32_t>(folded[i]), &out);
  }
  return out;
}

std::string_view strip(std::string_view text, std::optional<std::string_view> chars, bool left,
                       bool right) {
  const auto drop = [&](char32_t c) {
    if (!chars) return is_space(c);
    for (size_t at = 0; at < chars->size();)
      if (next_code_point(*chars, &at) == c) return true;
    return false;
  };
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end) {
    size_t read = begin;
    if (!drop(next_code_point(text, &read))) break;
    begin = read;
  }
  while (right && end > begin) {
    const size_t previous = previous_code_point(text, end);
    size_t read = previous;
    if (!drop(next_code_point(text, &read))) break;
    end = previous;
  }
  return text.substr(begin, end - begin);
}

std::vector<std::string_view> split(std::string_view text,
                                    std::optional<std::string_view> separator, int64_t max,
                                    bool from_right) {
  if (!separator) return from_right ? rsplit_space(text, max) : split_space(text, max);
  std::vector<std::string_view> out;
  if (!from_right) {
    while (max < 0 || static_cast<int64_t>(out.size()) < max) {
      const size_t at = find_text(text, *separator);
      if (at == std::string_view::npos) break;
      out.push_back(text.substr(0, at));
      text.remove_prefix(at + separator->size());
    }
    out.push_back(text);
    return out;
  }
  while (max < 0 || static_cast<int64_t>(out.size()) < max) {
    const size_t at = rfind_text(text, *separator);
    if (at == std::string_view::npos) break;
    out.push_back(text.substr(at + separator->size()));
    text = text.substr(0, at);
  }
  out.push_back(text);
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> out;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = at;
    const char32_t c = next_code_point(text, &at);
    if (!is_line_end(c)) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    out.push_back(text.substr(begin, (keep_ends ? at : line_end) - begin));
    begin = at;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

std::string replace(std::string_view text, std::string_view from, std::string_view to, int64_t max,
                    size_t limit) {
  std::string out;
  const auto put = [&](std::string_view piece) {
    if (out.size() + piece.size() > limit) fail_limit("a text in the template grew too large");
    out.append(piece);
  };
  if (from.empty()) {  // between all code points, and at both ends
    size_t at = 0;
    while (max != 0) {
      put(to);
      if (max > 0) --max;
      if (at >= text.size()) return out;
      const size_t begin = at;
      next_code_point(text, &at);
      put(text.substr(begin, at - begin));
    }
    put(text.substr(at));
    return out;
  }
  while (max != 0) {
    const size_t at = find_text(text, from);
    if (at == std::string_view::npos) break;
    put(text.substr(0, at));
    put(to);
    text.remove_prefix(at + from.size());
    if (max > 0) --max;
  }
  put(text);
  return out;
}

}  // namespace spindrift::jinja
