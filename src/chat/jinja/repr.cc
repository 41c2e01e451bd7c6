// str() and repr() of values.
#include <array>
#include <cstdio>

#include "chat/jinja/runtime.h"
#include "chat/jinja/text.h"
#include "chat/jinja/value.h"

namespace spindrift::jinja {
namespace {

void append_quoted(Runtime& rt, const Str& s, std::string* out) {
  rt.scanned(8 * s.size);
  const std::string_view text = s.view();
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  if (s.markup) out->append("Markup(");
  out->push_back(quote);
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, &at);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out->push_back('\\');
      out->push_back(static_cast<char>(c));
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (c == '\t') {
      out->append("\\t");
    } else if (is_printable(c)) {
      out->append(text.substr(begin, at - begin));
    } else {
      std::array<char, 12> escape{};
      const char* format = c < 0x100 ? "\\x%02x" : (c < 0x10000 ? "\\u%04x" : "\\U%08x");
      std::snprintf(escape.data(), escape.size(), format, static_cast<unsigned>(c));
      out->append(escape.data());
    }
  }
  out->push_back(quote);
  if (s.markup) out->push_back(')');
}

void append_items(Runtime& rt, std::span<const Value> items, std::string* out) {
  bool first = true;
  for (const Value& item : items) {
    if (!first) out->append(", ");
    first = false;
    append_repr(rt, item, out);
  }
}

void append_view(Runtime& rt, const View& view, std::string* out) {
  out->append(view.part == View::Part::kKeys     ? "dict_keys(["
              : view.part == View::Part::kValues ? "dict_values(["
                                                 : "dict_items([");
  bool first = true;
  for (const Dict::Entry& entry : view.dict->items()) {
    if (!first) out->append(", ");
    first = false;
    if (view.part == View::Part::kItems) out->push_back('(');
    if (view.part != View::Part::kValues) append_repr(rt, entry.key, out);
    if (view.part == View::Part::kItems) out->append(", ");
    if (view.part != View::Part::kKeys) append_repr(rt, entry.value, out);
    if (view.part == View::Part::kItems) out->push_back(')');
  }
  out->append("])");
}

void append_dict(Runtime& rt, const Dict& dict, std::string* out) {
  out->push_back('{');
  bool first = true;
  for (const Dict::Entry& entry : dict.items()) {
    if (!first) out->append(", ");
    first = false;
    append_repr(rt, entry.key, out);
    out->append(": ");
    append_repr(rt, entry.value, out);
  }
  out->push_back('}');
}

}  // namespace

void append_str(Runtime& rt, const Value& v, std::string* out) {
  if (v.is_str())
    out->append(v.text());
  else if (!v.is_undefined() && !v.is(Kind::kMissing))
    append_repr(rt, v, out);
}

void append_repr(Runtime& rt, const Value& v, std::string* out) {
  rt.tick();
  if (out->size() > rt.limits().text) fail_limit("a text in the template grew too large");
  const DepthGuard guard(rt);
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      out->append("Undefined");
      return;
    case Kind::kNone:
      out->append("None");
      return;
    case Kind::kBool:
      out->append(v.boolean ? "True" : "False");
      return;
    case Kind::kInt:
      out->append(std::to_string(v.integer));
      return;
    case Kind::kBig:
      rt.tick(int64_t{v.big->count} * v.big->count);
      out->append(to_big(v).to_string());
      return;
    case Kind::kFloat:
      out->append(float_repr(v.real));
      return;
    case Kind::kStr:
      append_quoted(rt, *v.str, out);
      return;
    case Kind::kList:
      out->push_back('[');
      append_items(rt, v.list->items(), out);
      out->push_back(']');
      return;
    case Kind::kTuple:
      out->push_back('(');
      append_items(rt, v.list->items(), out);
      out->append(v.list->size == 1 ? ",)" : ")");
      return;
    case Kind::kDict:
      append_dict(rt, *v.dict, out);
      return;
    case Kind::kView:
      append_view(rt, *v.view, out);
      return;
    case Kind::kRange:
      out->append("range(" + std::to_string(v.range->start) + ", " + std::to_string(v.range->stop));
      if (v.range->step != 1) out->append(", " + std::to_string(v.range->step));
      out->push_back(')');
      return;
    case Kind::kNamespace: {
      out->append("<Namespace {");
      for (size_t i = 0; i < v.ns->size; ++i) {
        if (i != 0) out->append(", ");
        append_quoted(rt, *v.ns->attrs[i].first, out);
        out->append(": ");
        append_repr(rt, v.ns->attrs[i].second, out);
      }
      out->append("}>");
      return;
    }
    case Kind::kMacro:
      out->append("<Macro ");
      if (v.macro->name == nullptr)
        out->append("anonymous");
      else
        append_quoted(rt, *v.macro->name, out);
      out->push_back('>');
      return;
    case Kind::kLoop:
      out->append("<LoopContext " + std::to_string(v.loop->index0 + 1) + "/" +
                  std::to_string(loop_length(rt, *v.loop)) + ">");
      return;
    case Kind::kFunction:
      out->append(std::string("<function ") + v.function->name + ">");
      return;
    default:
      out->append("<" + type_name(v) + " object>");
      return;
  }
}

std::string to_str(Runtime& rt, const Value& v) {
  std::string out;
  append_str(rt, v, &out);
  return out;
}

std::string to_repr(Runtime& rt, const Value& v) {
  std::string out;
  append_repr(rt, v, &out);
  return out;
}

}  // namespace spindrift::jinja
