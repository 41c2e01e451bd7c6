// The methods of str.
#include <algorithm>
#include <limits>

#include "chat/jinja/methods.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

std::string_view text_argument(const Value& v, const char* what) {
  if (v.is_str()) return v.text();
  fail_type(std::string(what) + " must be a string, found " + type_name(v));
}

// A result of the same class as self: text stays text, HTML stays HTML.
Value like(Runtime& rt, const Value& self, std::string_view text) {
  return rt.text(text, self.str->markup);
}

template <std::string (*Convert)(std::string_view)>
Value converted(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("a conversion", args, 0, 0);
  rt.scanned(8 * self.str->size);
  return like(rt, self, Convert(self.text()));
}

template <bool Left, bool Right>
Value stripped(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("strip", args, 0, 1);
  std::optional<std::string_view> chars;
  if (!args.positional.empty() && !args.positional[0].is_none()) {
    chars = text_argument(args.positional[0], "the argument of strip()");
    rt.scanned(self.str->size * (1 + chars->size() / 16));
  }
  return Value::of(rt.borrow(strip(self.text(), chars, Left, Right), self.str->markup));
}

template <bool FromRight>
Value split_method(Runtime& rt, const Value& self, const Arguments& args) {
  const Bound bound(FromRight ? "rsplit" : "split", args, 0, {"sep", "maxsplit"});
  std::optional<std::string_view> separator;
  if (const Value* sep = bound.get(0); sep != nullptr && !sep->is_none()) {
    separator = text_argument(*sep, "the separator");
    if (separator->empty()) fail("empty separator");
  }
  rt.scanned(self.str->size);
  std::vector<Value> parts;
  for (std::string_view part : split(self.text(), separator, bound.whole(1, -1), FromRight))
    parts.push_back(Value::of(rt.borrow(part, self.str->markup)));
  return rt.list(parts);
}

Value splitlines(Runtime& rt, const Value& self, const Arguments& args) {
  const Bound bound("splitlines", args, 0, {"keepends"});
  std::vector<Value> lines;
  rt.scanned(self.str->size);
  for (std::string_view line : split_lines(self.text(), bound.flag(rt, 0, false)))
    lines.push_back(Value::of(rt.borrow(line, self.str->markup)));
  return rt.list(lines);
}

// The part of self that optional start and end arguments select, or nullopt when start lies behind
// the end.
struct Window {
  std::string_view text;
  int64_t first;  // code points before it
};
std::optional<Window> window(Runtime& rt, const Value& self, const Arguments& args) {
  const auto size = static_cast<int64_t>(self.str->length);
  const auto bound = [&](size_t i, int64_t fallback) {
    if (args.positional.size() <= i || args.positional[i].is_none()) return fallback;
    const int64_t at = clamped_index(args.positional[i], "a position");
    return at < 0 ? std::max<int64_t>(0, at < -size ? 0 : at + size) : at;
  };
  const int64_t first = bound(1, 0);
  const int64_t last = std::min(bound(2, size), size);
  rt.scanned(self.str->size);
  if (first > size || first > last) return std::nullopt;
  const size_t begin = byte_offset(self.text(), static_cast<size_t>(first));
  const std::string_view rest = self.text().substr(begin);
  return Window{rest.substr(0, byte_offset(rest, static_cast<size_t>(last - first))), first};
}

template <bool End>
Value affix(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments(End ? "endswith" : "startswith", args, 1, 3);
  const auto part = window(rt, self, args);
  const auto matches = [&](const Value& v) {
    const std::string_view wanted = text_argument(v, "the argument of startswith() or endswith()");
    if (!part || part->text.size() < wanted.size()) return false;
    return (End ? part->text.substr(part->text.size() - wanted.size())
                : part->text.substr(0, wanted.size())) == wanted;
  };
  const Value& wanted = args.positional[0];
  if (!wanted.is(Kind::kTuple)) return Value::of(matches(wanted));
  for (const Value& one : wanted.list->items())
    if (matches(one)) return Value::of(true);
  return Value::of(false);
}

int64_t place_of(Runtime& rt, const Value& self, const Arguments& args, const char* name,
                 bool from_right) {
  plain_arguments(name, args, 1, 3);
  const std::string_view wanted = text_argument(args.positional[0], "the text to find");
  const auto part = window(rt, self, args);
  if (!part) return -1;
  const size_t at = from_right ? rfind_text(part->text, wanted) : find_text(part->text, wanted);
  if (at == std::string_view::npos) return -1;
  return part->first + static_cast<int64_t>(count_code_points(part->text.substr(0, at)));
}

Value find_method(Runtime& rt, const Value& self, const Arguments& args) {
  return Value::of(place_of(rt, self, args, "find", false));
}
Value rfind_method(Runtime& rt, const Value& self, const Arguments& args) {
  return Value::of(place_of(rt, self, args, "rfind", true));
}
Value index_method(Runtime& rt, const Value& self, const Arguments& args) {
  const int64_t at = place_of(rt, self, args, "index", false);
  if (at < 0) fail("substring not found");
  return Value::of(at);
}
Value rindex_method(Runtime& rt, const Value& self, const Arguments& args) {
  const int64_t at = place_of(rt, self, args, "rindex", true);
  if (at < 0) fail("substring not found");
  return Value::of(at);
}

Value count_method(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("count", args, 1, 3);
  const std::string_view wanted = text_argument(args.positional[0], "the text to count");
  const auto part = window(rt, self, args);
  if (!part) return Value::of(int64_t{0});
  if (wanted.empty()) return Value::of(static_cast<int64_t>(count_code_points(part->text)) + 1);
  int64_t count = 0;
  for (size_t at = 0; (at = find_text(part->text, wanted, at)) != std::string_view::npos;
       at += wanted.size())
    ++count;
  return Value::of(count);
}

Value replace_method(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("replace", args, 2, 3);
  const std::string_view from =
      text_argument(args.positional[0], "the first argument of replace()");
  const std::string_view to = text_argument(args.positional[1], "the second argument of replace()");
  const int64_t max =
      args.positional.size() > 2 ? clamped_index(args.positional[2], "the count") : -1;
  rt.scanned(self.str->size);
  return like(rt, self, replace(self.text(), from, to, max, rt.limits().text));
}

Value join_method(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("join", args, 1, 1);
  std::string out;
  bool first = true;
  for (const Value& item : to_vector(rt, args.positional[0])) {
    if (!first) out.append(self.text());
    first = false;
    const std::string_view part = text_argument(item, "each item of join()");
    if (self.str->markup && !item.str->markup)
      out.append(escape_html(part));
    else
      out.append(part);
    rt.scanned(part.size() + self.str->size);
    if (out.size() > rt.limits().text) fail_limit("a text in the template grew too large");
  }
  return like(rt, self, out);
}

template <bool (*Test)(char32_t)>
Value all_are(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("a test", args, 0, 0);
  rt.scanned(8 * self.str->size);
  const std::string_view text = self.text();
  for (size_t at = 0; at < text.size();)
    if (!Test(next_code_point(text, &at))) return Value::of(false);
  return Value::of(!text.empty());
}

bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c) || is_digit(c); }

Value is_ascii(Runtime&, const Value& self, const Arguments& args) {
  plain_arguments("isascii", args, 0, 0);
  return Value::of(self.str->ascii());
}
Value printable(Runtime& rt, const Value& self, const Arguments& args) {
  return self.str->size == 0 ? Value::of(true) : all_are<is_printable>(rt, self, args);
}
Value identifier(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("isidentifier", args, 0, 0);
  rt.scanned(8 * self.str->size);
  return Value::of(is_identifier(self.text()));
}

// islower and isupper: no cased character of the other kind, and at least one of this kind.
template <bool (*Wanted)(char32_t), bool (*Other)(char32_t)>
Value has_case(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("a test", args, 0, 0);
  rt.scanned(8 * self.str->size);
  const std::string_view text = self.text();
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, &at);
    if (Other(c) || is_title(c)) return Value::of(false);
    any = any || Wanted(c);
  }
  return Value::of(any);
}

Value is_title_cased(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("istitle", args, 0, 0);
  rt.scanned(8 * self.str->size);
  const std::string_view text = self.text();
  bool any = false;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, &at);
    const bool starts = is_upper(c) || is_title(c);
    if (starts && inside) return Value::of(false);
    if (is_lower(c) && !inside) return Value::of(false);
    inside = starts || is_lower(c);
    any = any || inside;
  }
  return Value::of(any);
}

enum class Side : uint8_t { kLeft, kRight, kCenter };

template <Side Where>
Value padded(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("a padding", args, 1, 2);
  const int64_t width = clamped_index(args.positional[0], "the width");
  const std::string_view fill =
      args.positional.size() > 1 ? text_argument(args.positional[1], "the fill character") : " ";
  if (count_code_points(fill) != 1) fail_type("the fill character must be exactly one character");
  const auto size = static_cast<int64_t>(self.str->length);
  if (width <= size) return self;
  if (width > static_cast<int64_t>(rt.limits().text / 4))
    fail_limit("a text in the template grew too large");
  const int64_t missing = width - size;
  int64_t left = 0;
  if (Where == Side::kRight) left = missing;
  if (Where == Side::kCenter) left = missing / 2 + (missing & width & 1);
  std::string out;
  for (int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(self.text());
  for (int64_t i = left; i < missing; ++i) out.append(fill);
  return like(rt, self, out);
}

Value zfill(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("zfill", args, 1, 1);
  const int64_t width = clamped_index(args.positional[0], "the width");
  const auto size = static_cast<int64_t>(self.str->length);
  if (width <= size) return self;
  if (width > static_cast<int64_t>(rt.limits().text / 4))
    fail_limit("a text in the template grew too large");
  std::string_view text = self.text();
  std::string out;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    out.push_back(text[0]);
    text.remove_prefix(1);
  }
  out.append(static_cast<size_t>(width - size), '0').append(text);
  return like(rt, self, out);
}

template <bool FromRight>
Value partition(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("partition", args, 1, 1);
  const std::string_view separator = text_argument(args.positional[0], "the separator");
  if (separator.empty()) fail("empty separator");
  const std::string_view text = self.text();
  rt.scanned(text.size());
  const size_t at = FromRight ? rfind_text(text, separator) : find_text(text, separator);
  std::string_view parts[3] = {text, "", ""};
  if (at != std::string_view::npos) {
    parts[0] = text.substr(0, at);
    parts[1] = text.substr(at, separator.size());
    parts[2] = text.substr(at + separator.size());
  } else if (FromRight) {
    std::swap(parts[0], parts[2]);
  }
  std::vector<Value> values;
  for (std::string_view part : parts)
    values.push_back(Value::of(rt.borrow(part, self.str->markup)));
  return rt.tuple(values);
}

template <bool Prefix>
Value without_affix(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments(Prefix ? "removeprefix" : "removesuffix", args, 1, 1);
  const std::string_view affix_text = text_argument(args.positional[0], "the affix");
  std::string_view text = self.text();
  if (text.size() < affix_text.size()) return self;
  if (Prefix && text.substr(0, affix_text.size()) == affix_text)
    text.remove_prefix(affix_text.size());
  else if (!Prefix && text.substr(text.size() - affix_text.size()) == affix_text)
    text.remove_suffix(affix_text.size());
  return Value::of(rt.borrow(text, self.str->markup));
}

Value expandtabs(Runtime& rt, const Value& self, const Arguments& args) {
  const Bound bound("expandtabs", args, 0, {"tabsize"});
  const int64_t tab = std::min<int64_t>(bound.whole(0, 8), 1 << 16);
  std::string out;
  int64_t column = 0;
  const std::string_view text = self.text();
  for (char c : text) {
    if (c == '\t') {
      if (tab <= 0) continue;
      const int64_t blanks = tab - column % tab;
      out.append(static_cast<size_t>(blanks), ' ');
      column += blanks;
      rt.tick(1 + blanks / 64);
      if (out.size() > rt.limits().text) fail_limit("a text in the template grew too large");
      continue;
    }
    out.push_back(c);
    if (c == '\n' || c == '\r')
      column = 0;
    else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U)
      ++column;
  }
  return like(rt, self, out);
}

Value format_method(Runtime& rt, const Value& self, const Arguments& args) {
  return like(rt, self, format_braces(rt, *self.str, args));
}
Value format_map(Runtime& rt, const Value& self, const Arguments& args) {
  plain_arguments("format_map", args, 1, 1);
  Arguments named;
  if (!args.positional[0].is(Kind::kDict)) fail_type("format_map() needs a mapping");
  for (const Dict::Entry& entry : args.positional[0].dict->items())
    if (entry.key.is_str()) named.named.emplace_back(entry.key.str, entry.value);
  return like(rt, self, format_braces(rt, *self.str, named));
}

using Call = Value (*)(Runtime& rt, const Value& self, const Arguments& args);
struct Entry {
  std::string_view name;
  Call call;
};
constexpr Entry kMethods[] = {
    {"strip", stripped<true, true>},
    {"lstrip", stripped<true, false>},
    {"rstrip", stripped<false, true>},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", splitlines},
    {"startswith", affix<false>},
    {"endswith", affix<true>},
    {"replace", replace_method},
    {"find", find_method},
    {"rfind", rfind_method},
    {"index", index_method},
    {"rindex", rindex_method},
    {"count", count_method},
    {"join", join_method},
    {"format", format_method},
    {"format_map", format_map},
    {"upper", converted<upper>},
    {"lower", converted<lower>},
    {"title", converted<title>},
    {"capitalize", converted<capitalize>},
    {"swapcase", converted<swapcase>},
    {"casefold", converted<casefold>},
    {"isalpha", all_are<is_alpha>},
    {"isalnum", all_are<is_alnum>},
    {"isdigit", all_are<is_digit>},
    {"isdecimal", all_are<is_decimal>},
    {"isnumeric", all_are<is_numeric>},
    {"isspace", all_are<is_space>},
    {"isprintable", printable},
    {"isascii", is_ascii},
    {"isidentifier", identifier},
    {"islower", has_case<is_lower, is_upper>},
    {"isupper", has_case<is_upper, is_lower>},
    {"istitle", is_title_cased},
    {"ljust", padded<Side::kLeft>},
    {"rjust", padded<Side::kRight>},
    {"center", padded<Side::kCenter>},
    {"zfill", zfill},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"removeprefix", without_affix<true>},
    {"removesuffix", without_affix<false>},
    {"expandtabs", expandtabs},
};

}  // namespace

Value (*text_method(std::string_view name))(Runtime& rt, const Value& self, const Arguments& args) {
  for (const Entry& entry : kMethods)
    if (entry.name == name) return entry.call;
  return nullptr;
}

}  // namespace spindrift::jinja
