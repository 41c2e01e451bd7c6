#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chat/jinja/builtins.h"

namespace spindrift::jinja {

// The pieces that "%..." % args and "{...}".format(args) share. Widths and precisions above 65536
// throw TemplateError: nobody lays out wider text.
inline constexpr int64_t kMaxFormatWidth = 1 << 16;

// One parsed directive of either style.
struct FormatSpec {
  std::string fill = " ";
  char align = '\0';  // '<' '>' '^' '=', or none given
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  char grouping = '\0';
  std::optional<int64_t> precision;
  char type = '\0';
};

// The text padded to the width; `default_align` when the directive gives none.
std::string pad(const FormatSpec& spec, std::string_view text, char default_align);
// Sign, prefix (0x) and digits (integer digits, then the rest from `tail`) laid out in the width.
std::string lay_out(const FormatSpec& spec, bool negative, std::string_view prefix,
                    std::string digits, std::string_view tail, size_t group_size = 3);
std::string format_float(const FormatSpec& spec, double v);
// The digits of |v| in the base that `type` names (d, x, X, o, b); `prefix` gets 0x and the like.
std::string whole_digits(const BigInt& v, char type, std::string* prefix, bool alternate);
// The character with that number.
std::string character(const Value& v);
// The number at *at, which moves behind it; 0 when there is none.
int64_t read_number(std::string_view text, size_t* at);
// repr() with everything beyond ASCII escaped.
std::string ascii_repr(Runtime& rt, const Value& v);
// Fails when a result grows too large.
void check_size(Runtime& rt, const std::string& out);

}  // namespace spindrift::jinja
