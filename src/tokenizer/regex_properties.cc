#include <algorithm>
#include <cctype>
#include <cstdio>

#include "tokenizer/regex.h"
#include "tokenizer/unicode_tables.h"

namespace spindrift {
namespace {

using unicode_tables::CodePointRange;
using unicode_tables::PropertyDelta;

struct Alias {
  std::string_view name, canonical;
};
constexpr Alias kAliases[] = {
    {"letter", "L"},           {"mark", "M"},           {"number", "N"}, {"punctuation", "P"},
    {"symbol", "S"},           {"separator", "Z"},      {"other", "C"},  {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"}, {"decimalnumber", "Nd"}, {"word", "w"},
};

// Oniguruma ignores case, spaces, '-' and '_' in property names.
std::string fold_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != ' ' && c != '-' && c != '_')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

const PropertyDelta* find_delta(std::string_view name) {
  const std::string folded = fold_name(name);
  std::string canonical = folded;
  for (const Alias& alias : kAliases) {
    if (alias.name == folded) canonical = fold_name(alias.canonical);
  }
  for (const PropertyDelta& delta : unicode_tables::property_deltas()) {
    if (fold_name(delta.name) == canonical) return &delta;
  }
  return nullptr;
}

void append_ranges(std::span<const CodePointRange> ranges, std::string& out) {
  for (const CodePointRange& range : ranges) {
    char text[48];
    std::snprintf(text, sizeof text, "\\x{%x}-\\x{%x}", static_cast<unsigned>(range.first),
                  static_cast<unsigned>(range.last));
    out += text;
  }
}

// A bracketed class with the package's members of a property; usable inside another bracket too.
std::string widened(std::string_view property, const PropertyDelta& delta, bool negated) {
  if (delta.missing.empty() && delta.surplus.empty()) {
    std::string out(property);
    if (!negated) return out;
    return "[^" + out + "]";
  }
  std::string members(property);
  append_ranges(delta.missing, members);
  if (!delta.surplus.empty()) {
    std::string surplus;
    append_ranges(delta.surplus, surplus);
    members = "[" + members + "]&&[^" + surplus + "]";
  }
  return (negated ? "[^" : "[") + members + "]";
}

}  // namespace

Result<std::string> widen_properties(std::string_view expression, std::string_view where) {
  std::string out;
  for (size_t pos = 0; pos < expression.size();) {
    const std::string_view rest = expression.substr(pos);
    if (rest.starts_with("[:punct:]") || rest.starts_with("[:^punct:]")) {
      const bool negated = rest[2] == '^';
      out += widened("\\p{P}", *find_delta("P"), false).insert(0, negated ? "[^" : "[");
      out += widened("\\p{S}", *find_delta("S"), false) + "]";
      pos += negated ? 10 : 9;
      continue;
    }
    if (rest[0] != '\\' || rest.size() < 2) {
      out += rest[0];
      ++pos;
      continue;
    }
    const char escaped = rest[1];
    if (escaped == 'w' || escaped == 'W') {
      out += widened("\\w", *find_delta("w"), escaped == 'W');
      pos += 2;
      continue;
    }
    if (escaped == 'd' || escaped == 'D') {
      out += widened("\\d", *find_delta("Nd"), escaped == 'D');
      pos += 2;
      continue;
    }
    if ((escaped != 'p' && escaped != 'P') || rest.size() < 3 || rest[2] != '{') {
      out += rest.substr(0, 2);
      pos += 2;
      continue;
    }
    const size_t close = rest.find('}');
    if (close == std::string_view::npos) {
      out += rest;
      break;
    }
    std::string_view name = rest.substr(3, close - 3);
    bool negated = escaped == 'P';
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    const PropertyDelta* delta = find_delta(name);
    if (delta == nullptr) {
      return Error{ErrorCode::kUnsupported, std::string(where) + ": character property \\p{" +
                                                std::string(name.substr(0, 40)) +
                                                "} is not supported"};
    }
    out += widened("\\p{" + std::string(name) + "}", *delta, negated);
    pos += close + 1;
  }
  return out;
}

}  // namespace spindrift
