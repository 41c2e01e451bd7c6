// "{...}".format(args)
#include <algorithm>
#include <cmath>
#include <optional>

#include "chat/jinja/format.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

class Braces {
 public:
  Braces(Runtime& rt, bool html, const Arguments& args) : rt_(rt), html_(html), args_(args) {}

  std::string run(std::string_view format, int depth) {
    if (depth < 0) fail("format: replacement fields nest too deep");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if (c != '{' && c != '}') {
        out.push_back(c);
        ++at;
        continue;
      }
      if (at + 1 < format.size() && format[at + 1] == c) {
        out.push_back(c);
        at += 2;
        continue;
      }
      if (c == '}') fail("format: single '}' in the text");
      const size_t end = closing(format, at + 1);
      out += field(format.substr(at + 1, end - at - 1), depth);
      check_size(rt_, out);
      at = end + 1;
    }
    return out;
  }

 private:
  static size_t closing(std::string_view format, size_t at) {
    int open = 1;
    for (; at < format.size(); ++at) {
      if (format[at] == '{') ++open;
      if (format[at] == '}' && --open == 0) return at;
    }
    fail("format: expected '}' before the end of the text");
  }

  std::string field(std::string_view text, int depth) {
    // The name ends at the first ! or : outside of [...].
    size_t end = 0;
    bool bracket = false;
    while (end < text.size() && (bracket || (text[end] != '!' && text[end] != ':'))) {
      if (text[end] == '[') bracket = true;
      if (text[end] == ']') bracket = false;
      ++end;
    }
    Value v = lookup(text.substr(0, end));
    std::string_view rest = text.substr(end);
    if (!rest.empty() && rest[0] == '!') {
      if (rest.size() < 2 || (rest.size() > 2 && rest[2] != ':'))
        fail("format: expected ':' after the conversion");
      if (rest[1] == 's')
        v = rt_.text(to_str(rt_, v));
      else if (rest[1] == 'r')
        v = rt_.text(to_repr(rt_, v));
      else if (rest[1] == 'a')
        v = rt_.text(ascii_repr(rt_, v));
      else
        fail("format: unknown conversion");
      rest.remove_prefix(2);
    }
    const std::string spec = rest.empty() ? "" : run(rest.substr(1), depth - 1);
    const std::string plain = format_value(rt_, v, spec);
    return html_ && !(v.is_str() && v.str->markup) ? escape_html(plain) : plain;
  }

  Value lookup(std::string_view name) {
    const size_t end = std::min(name.find_first_of(".["), name.size());
    Value v = first(name.substr(0, end));
    for (size_t at = end; at < name.size();) {
      if (name[at] == '.') {
        const size_t next = std::min(name.find_first_of(".[", at + 1), name.size());
        if (next == at + 1) fail("format: empty attribute");
        v = get_attribute(rt_, v, rt_.str(name.substr(at + 1, next - at - 1)));
        at = next;
      } else if (name[at] == '[') {
        const size_t close = name.find(']', at);
        if (close == std::string_view::npos) fail("format: missing ']'");
        v = get_item(rt_, v, key(name.substr(at + 1, close - at - 1)));
        at = close + 1;
      } else {
        fail("format: only '.' or '[' may follow ']'");
      }
    }
    return v;
  }

  Value key(std::string_view text) {
    if (text.empty()) fail("format: empty attribute");
    int64_t number = 0;
    return whole_number(text, &number) ? Value::of(number) : rt_.text(text);
  }

  static bool whole_number(std::string_view text, int64_t* number) {
    if (text.empty() || text.size() > 9) return false;
    for (char c : text)
      if (c < '0' || c > '9') return false;
    *number = std::stoll(std::string(text));
    return true;
  }

  Value first(std::string_view name) {
    int64_t number = 0;
    if (name.empty()) {
      if (manual_)
        fail("format: cannot switch from manual field specification to automatic field numbering");
      automatic_ = true;
      number = next_++;
    } else if (whole_number(name, &number)) {
      if (automatic_)
        fail("format: cannot switch from automatic field numbering to manual field specification");
      manual_ = true;
    } else {
      for (const auto& [other, value] : args_.named)
        if (other->view() == name) return value;
      fail("format: no argument named '" + std::string(name) + "'");
    }
    if (number >= static_cast<int64_t>(args_.positional.size()))
      fail("format: not enough arguments");
    return args_.positional[static_cast<size_t>(number)];
  }

  Runtime& rt_;
  bool html_;
  const Arguments& args_;
  int64_t next_ = 0;
  bool automatic_ = false;
  bool manual_ = false;
};

}  // namespace

std::string format_braces(Runtime& rt, const Str& format, const Arguments& args) {
  return Braces(rt, format.markup, args).run(format.view(), 2);
}

}  // namespace spindrift::jinja
