#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "chat/jinja/json.h"
#include "chat/jinja/sort.h"
#include "chat/jinja/text.h"

namespace spindrift::jinja {
namespace {

std::string float_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_repr(value);
}

class Writer {
 public:
  Writer(Runtime& rt, const JsonStyle& style, std::string* out)
      : rt_(rt), style_(style), out_(out) {}

  void write(const Value& v) {
    rt_.tick();
    if (out_->size() > rt_.limits().text) fail_limit("a text in the template grew too large");
    const DepthGuard guard(rt_);
    switch (v.kind) {
      case Kind::kNone:
        out_->append("null");
        return;
      case Kind::kBool:
        out_->append(v.boolean ? "true" : "false");
        return;
      case Kind::kInt:
      case Kind::kBig:
        append_repr(rt_, v, out_);
        return;
      case Kind::kFloat:
        out_->append(float_text(v.real));
        return;
      case Kind::kStr:
        rt_.scanned(4 * v.str->size);
        append_json_string(v.text(), style_.ensure_ascii, out_);
        return;
      case Kind::kList:
      case Kind::kTuple:
        array(*v.list);
        return;
      case Kind::kDict:
        object(*v.dict);
        return;
      default:
        fail_type("a value of type " + type_name(v) + " cannot be written as JSON");
    }
  }

 private:
  void line_break() {
    if (!style_.pretty) return;
    out_->push_back('\n');
    for (int i = 0; i < level_; ++i) out_->append(style_.indent);
    rt_.scanned(style_.indent.size() * static_cast<size_t>(level_));
    if (out_->size() > rt_.limits().text) fail_limit("a text in the template grew too large");
  }

  void array(const List& list) {
    if (list.size == 0) {
      out_->append("[]");
      return;
    }
    out_->push_back('[');
    ++level_;
    for (size_t i = 0; i < list.size; ++i) {
      if (i != 0) out_->append(style_.item_separator);
      line_break();
      write(list.data[i]);
    }
    --level_;
    line_break();
    out_->push_back(']');
  }

  void key(const Value& k) {
    switch (k.kind) {
      case Kind::kStr:
        append_json_string(k.text(), style_.ensure_ascii, out_);
        return;
      case Kind::kNone:
      case Kind::kBool:
      case Kind::kInt:
      case Kind::kBig:
      case Kind::kFloat:
        out_->push_back('"');
        write(k);
        out_->push_back('"');
        return;
      default:
        fail_type("a key of type " + type_name(k) + " cannot be written as JSON");
    }
  }

  void object(const Dict& dict) {
    if (dict.size == 0) {
      out_->append("{}");
      return;
    }
    std::vector<Dict::Entry> entries(dict.items().begin(), dict.items().end());
    if (style_.sort_keys)
      stable_sort(&entries, [this](const Dict::Entry& a, const Dict::Entry& b) {
        return less(rt_, a.key, b.key);
      });
    out_->push_back('{');
    ++level_;
    bool first = true;
    for (const Dict::Entry& entry : entries) {
      if (!first) out_->append(style_.item_separator);
      first = false;
      line_break();
      key(entry.key);
      out_->append(style_.key_separator);
      write(entry.value);
    }
    --level_;
    line_break();
    out_->push_back('}');
  }

  Runtime& rt_;
  const JsonStyle& style_;
  std::string* out_;
  int level_ = 0;
};

void append_unit(uint32_t unit, std::string* out) {
  std::array<char, 16> escape{};
  std::snprintf(escape.data(), escape.size(), "\\u%04x", unit);
  out->append(escape.data());
}

}  // namespace

void append_json_string(std::string_view text, bool ensure_ascii, std::string* out) {
  out->push_back('"');
  for (size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c >= 0x80 && ensure_ascii) {
      const char32_t point = next_code_point(text, &at);
      if (point >= 0x10000) {
        append_unit(0xD800 + ((point - 0x10000) >> 10), out);
        append_unit(0xDC00 + ((point - 0x10000) & 0x3FFU), out);
      } else {
        append_unit(point, out);
      }
      continue;
    }
    ++at;
    switch (c) {
      case '"':
        out->append("\\\"");
        break;
      case '\\':
        out->append("\\\\");
        break;
      case '\n':
        out->append("\\n");
        break;
      case '\r':
        out->append("\\r");
        break;
      case '\t':
        out->append("\\t");
        break;
      case '\f':
        out->append("\\f");
        break;
      case '\b':
        out->append("\\b");
        break;
      default:
        if (c < 0x20 || (c == 0x7F && ensure_ascii))
          append_unit(c, out);
        else
          out->push_back(static_cast<char>(c));
    }
  }
  out->push_back('"');
}

void write_json(Runtime& rt, const Value& v, const JsonStyle& style, std::string* out) {
  Writer(rt, style, out).write(v);
}

}  // namespace spindrift::jinja
