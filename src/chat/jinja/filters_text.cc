// Filters that make text.
#include <algorithm>
#include <cmath>

#include "chat/jinja/filters.h"
#include "chat/jinja/json.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

const Value& subject(const Arguments& args) { return args.positional[0]; }

template <std::string (*Convert)(std::string_view)>
Value converted(Runtime& rt, const Arguments& args) {
  const Bound bound("the filter", args, 1, {});
  const Str* text = soft_text(rt, subject(args));
  rt.scanned(8 * text->size);
  return rt.text(Convert(text->view()), text->markup);
}

// The filter `title` differs from str.title: words start after white space and - ( { [ <.
std::string title_words(std::string_view text) {
  std::string out;
  const auto starts_word = [](char32_t c) {
    return is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    const bool separator = starts_word(next_code_point(text, &end));
    for (size_t read = end; read < text.size();) {
      if (starts_word(next_code_point(text, &read)) != separator) break;
      end = read;
    }
    const std::string_view item = text.substr(at, end - at);
    size_t first = 0;
    next_code_point(item, &first);
    out += upper(item.substr(0, first));
    out += lower(item.substr(first));
    at = end;
  }
  return out;
}

Value trim(Runtime& rt, const Arguments& args) {
  const Bound bound("trim", args, 1, {"chars"});
  const Str* text = soft_text(rt, subject(args));
  std::optional<std::string_view> chars;
  if (const Value* v = bound.get(0); v != nullptr && !v->is_none()) {
    if (!v->is_str()) fail_type("the argument of trim must be a string, found " + type_name(*v));
    chars = v->text();
    rt.scanned(text->size * (1 + chars->size() / 16));
  }
  return Value::of(rt.borrow(strip(text->view(), chars, true, true), text->markup));
}

Value replace_filter(Runtime& rt, const Arguments& args) {
  const Bound bound("replace", args, 1, {"old", "new", "count"});
  const std::string text = to_str(rt, subject(args));
  const std::string from = to_str(rt, bound.require(0));
  const std::string to = to_str(rt, bound.require(1));
  const Value* count = bound.get(2);
  const int64_t max = count == nullptr || count->is_none() ? -1 : clamped_index(*count, "count");
  rt.scanned(text.size());
  return rt.text(replace(text, from, to, max, rt.limits().text));
}

Value string_filter(Runtime& rt, const Arguments& args) {
  const Bound bound("string", args, 1, {});
  return Value::of(soft_text(rt, subject(args)));
}

Value safe(Runtime& rt, const Arguments& args) {
  const Bound bound("safe", args, 1, {});
  return rt.text(to_str(rt, subject(args)), true);
}

Value escape(Runtime& rt, const Arguments& args) {
  const Bound bound("escape", args, 1, {});
  const Value& v = subject(args);
  if (v.is_str() && v.str->markup) return v;
  return rt.text(escape_html(to_str(rt, v)), true);
}

Value force_escape(Runtime& rt, const Arguments& args) {
  const Bound bound("forceescape", args, 1, {});
  return rt.text(escape_html(to_str(rt, subject(args))), true);
}

Value center(Runtime& rt, const Arguments& args) {
  const Bound bound("center", args, 1, {"width"});
  Arguments inner;
  inner.positional.push_back(Value::of(bound.whole(0, 80)));
  return call_method(rt, Value::of(soft_text(rt, subject(args))), "center", inner);
}

Value indent(Runtime& rt, const Arguments& args) {
  const Bound bound("indent", args, 1, {"width", "first", "blank"});
  const Value& v = subject(args);
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_str()) fail_type("indent needs text, found " + type_name(v));
  const Value* width = bound.get(0);
  std::string blanks;
  if (width != nullptr && width->is_str()) {
    blanks = width->text();
  } else {
    const int64_t count = bound.whole(0, 4);
    if (count > static_cast<int64_t>(rt.limits().text))
      fail_limit("a text in the template grew too large");
    blanks.assign(static_cast<size_t>(std::max<int64_t>(0, count)), ' ');
  }
  const bool first = bound.flag(rt, 1, false);
  const bool blank = bound.flag(rt, 2, false);
  const std::string text = std::string(v.text()) + "\n";  // so that a final line end is kept
  std::string out;
  bool is_first = true;
  for (std::string_view line : split_lines(text, false)) {
    if (!is_first) out.push_back('\n');
    if (is_first ? first : (blank || !line.empty())) out.append(blanks);
    out.append(line);
    is_first = false;
    rt.scanned(blanks.size() + line.size());
    if (out.size() > rt.limits().text) fail_limit("a text in the template grew too large");
  }
  return rt.text(out, v.str->markup);
}

Value truncate(Runtime& rt, const Arguments& args) {
  const Bound bound("truncate", args, 1, {"length", "killwords", "end", "leeway"});
  const Value& v = subject(args);
  const int64_t length = bound.whole(0, 255);
  const Value* end_value = bound.get(2);
  if (end_value != nullptr && !end_value->is_str())
    fail_type("the end of truncate must be a string");
  const std::string end(end_value == nullptr ? "..." : end_value->text());
  const auto end_length = static_cast<int64_t>(count_code_points(end));
  const Value* leeway_value = bound.get(3);
  const int64_t leeway = leeway_value == nullptr || leeway_value->is_none()
                             ? 5
                             : clamped_index(*leeway_value, "leeway");
  if (length < end_length) fail("truncate: the length must be at least that of the end");
  if (leeway < 0) fail("truncate: the leeway must not be negative");
  const int64_t size = length_of(v);
  if (size >= 0 && size - length <= leeway) return v;
  if (!v.is_str()) fail_type("truncate needs text, found " + type_name(v));
  rt.scanned(v.str->size);
  std::string_view kept =
      v.text().substr(0, byte_offset(v.text(), static_cast<size_t>(length - end_length)));
  if (!bound.flag(rt, 1, false)) kept = kept.substr(0, std::min(kept.rfind(' '), kept.size()));
  return rt.text(std::string(kept) + end, v.str->markup);
}

Value wordcount(Runtime& rt, const Arguments& args) {
  const Bound bound("wordcount", args, 1, {});
  const Str* text = soft_text(rt, subject(args));
  rt.scanned(8 * text->size);
  int64_t words = 0;
  bool inside = false;
  for (size_t at = 0; at < text->size;) {
    const bool word = is_word(next_code_point(text->view(), &at));
    words += word && !inside ? 1 : 0;
    inside = word;
  }
  return Value::of(words);
}

Value format_filter(Runtime& rt, const Arguments& args) {
  const Str* text = soft_text(rt, subject(args));
  if (args.positional.size() > 1 && !args.named.empty())
    fail("format cannot take positional and keyword arguments at the same time");
  if (args.named.empty())
    return rt.text(format_percent(rt, *text, rt.tuple(std::span(args.positional).subspan(1))),
                   text->markup);
  DictBuilder named(rt);
  for (const auto& [name, value] : args.named) named.set(Value::of(name), value);
  return rt.text(format_percent(rt, *text, Value::of(named.build())), text->markup);
}

std::string quote_url(std::string_view text, bool query) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    const bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                       c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !query);
    if (plain) {
      out.push_back(c);
    } else if (c == ' ' && query) {
      out.push_back('+');
    } else {
      out.push_back('%');
      out.push_back(kHex[static_cast<unsigned char>(c) >> 4]);
      out.push_back(kHex[static_cast<unsigned char>(c) & 15U]);
    }
  }
  return out;
}

Value urlencode(Runtime& rt, const Arguments& args) {
  const Bound bound("urlencode", args, 1, {});
  const Value& v = subject(args);
  if (v.is_str() || !iterable(v)) return rt.text(quote_url(to_str(rt, v), false));
  std::string out;
  const auto pair = [&](const Value& key, const Value& value) {
    if (!out.empty()) out.push_back('&');
    out += quote_url(to_str(rt, key), true) + "=" + quote_url(to_str(rt, value), true);
    rt.scanned(out.size() / 16);
  };
  if (v.is(Kind::kDict)) {
    for (const Dict::Entry& entry : v.dict->items()) pair(entry.key, entry.value);
  } else {
    for (const Value& item : to_vector(rt, v)) {
      const std::vector<Value> two = to_vector(rt, item);
      if (two.size() != 2) fail("urlencode needs pairs");
      pair(two[0], two[1]);
    }
  }
  return rt.text(out);
}

Value xmlattr(Runtime& rt, const Arguments& args) {
  const Bound bound("xmlattr", args, 1, {"autospace"});
  const Value& v = subject(args);
  if (!v.is(Kind::kDict)) fail_type("xmlattr needs a mapping, found " + type_name(v));
  const auto escaped = [&](const Value& x) {
    return x.is_str() && x.str->markup ? std::string(x.text()) : escape_html(to_str(rt, x));
  };
  std::string out;
  for (const Dict::Entry& entry : v.dict->items()) {
    if (entry.value.is_none() || entry.value.is_undefined()) continue;
    if (!entry.key.is_str()) fail_type("xmlattr needs text keys");
    if (entry.key.text().find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos)
      fail("invalid character in attribute name");
    if (!out.empty()) out.push_back(' ');
    out += escaped(entry.key) + "=\"" + escaped(entry.value) + "\"";
    rt.scanned(out.size() / 16);
  }
  if (!out.empty() && bound.flag(rt, 0, true)) out.insert(0, " ");
  return rt.text(out);
}

Value filesizeformat(Runtime& rt, const Arguments& args) {
  const Bound bound("filesizeformat", args, 1, {"binary"});
  const bool binary = bound.flag(rt, 0, false);
  double bytes = 0;
  if (subject(args).is_str()) {
    Arguments text;
    text.positional = {subject(args), rt.undefined("filesizeformat needs a number")};
    const Value parsed = find_filter("float")->call(rt, text);
    bytes = to_real(parsed);
  } else {
    bytes = to_real(subject(args));
  }
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return rt.text("1 Byte");
  if (bytes < base) return rt.text(BigInt::from_double_trunc(bytes).to_string() + " Bytes");
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  std::string out;
  for (size_t i = 0; i < kPrefixes.size(); ++i) {
    unit *= base;
    out = format_value(rt, Value::of(base * bytes / unit), ".1f") + " ";
    out.push_back(binary && i == 0 ? 'K' : kPrefixes[i]);
    out += binary ? "iB" : "B";
    if (bytes < unit) break;
  }
  return rt.text(out);
}

JsonStyle json_style(Runtime& rt, const Bound& bound) {
  JsonStyle style;
  style.ensure_ascii = bound.flag(rt, 0, false);
  style.sort_keys = bound.flag(rt, 3, false);
  const Value* indent_value = bound.get(1);
  if (indent_value != nullptr && !indent_value->is_none()) {
    style.pretty = true;
    style.item_separator = ",";
    if (indent_value->is_str()) {
      style.indent = indent_value->text();
    } else {
      const int64_t width = std::max<int64_t>(0, index_of(*indent_value, "indent"));
      if (width > 1024) fail_limit("tojson: an indent of more than 1024 blanks");
      style.indent.assign(static_cast<size_t>(width), ' ');
    }
  }
  const Value* separators = bound.get(2);
  if (separators != nullptr && !separators->is_none()) {
    const std::vector<Value> two = to_vector(rt, *separators);
    if (two.size() != 2 || !two[0].is_str() || !two[1].is_str())
      fail_type("tojson: separators must be two texts");
    style.item_separator = two[0].text();
    style.key_separator = two[1].text();
  }
  return style;
}

// transformers replaces the filter of jinja2: a plain json.dumps, with no HTML escapes.
Value tojson(Runtime& rt, const Arguments& args) {
  const Bound bound("tojson", args, 1, {"ensure_ascii", "indent", "separators", "sort_keys"});
  std::string out;
  write_json(rt, subject(args), json_style(rt, bound), &out);
  return rt.text(out);
}

constexpr Builtin kFilters[] = {
    {"upper", converted<upper>},
    {"lower", converted<lower>},
    {"capitalize", converted<capitalize>},
    {"title", converted<title_words>},
    {"trim", trim},
    {"replace", replace_filter},
    {"string", string_filter},
    {"safe", safe},
    {"escape", escape},
    {"e", escape},
    {"forceescape", force_escape},
    {"center", center},
    {"indent", indent},
    {"truncate", truncate},
    {"wordcount", wordcount},
    {"format", format_filter},
    {"urlencode", urlencode},
    {"xmlattr", xmlattr},
    {"filesizeformat", filesizeformat},
    {"tojson", tojson},
};

}  // namespace

const Str* soft_text(Runtime& rt, const Value& v) {
  return v.is_str() ? v.str : rt.str(to_str(rt, v));
}

std::span<const Builtin> text_filters() { return kFilters; }

}  // namespace spindrift::jinja
