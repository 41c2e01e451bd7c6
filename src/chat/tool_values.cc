#include "chat/tool_values.h"

#include <algorithm>
#include <cmath>

#include "chat/jinja/error.h"
#include "chat/jinja/eval.h"
#include "chat/jinja/json.h"
#include "chat/jinja/lexer.h"
#include "chat/jinja/parser.h"
#include "chat/jinja/text.h"

namespace spindrift {
namespace {

using jinja::Kind;
using jinja::Value;

constexpr std::string_view kBlanks = " \t\r\n";

// A value made of names and literals only.
bool is_literal(const jinja::Expr& e) {
  switch (e.kind) {
    case jinja::ExprKind::kConst:
      return true;
    case jinja::ExprKind::kNegative:
    case jinja::ExprKind::kPositive:
      return e.a->kind == jinja::ExprKind::kConst && e.a->value.is_number();
    case jinja::ExprKind::kTuple:
    case jinja::ExprKind::kList:
    case jinja::ExprKind::kDict:
      return std::all_of(e.args.begin(), e.args.end(),
                         [](const auto& item) { return is_literal(*item); });
    default:
      return false;
  }
}

// A Python literal is what the template language calls a constant expression, spelled with True,
// False and None.
std::optional<std::string> python_literal_json(std::string_view text) {
  const std::string source = "{{ " + std::string(text) + " }}";
  try {
    for (const jinja::Token& token : jinja::tokenize(source))
      if (token.type == jinja::Tok::kName && token.text != "True" && token.text != "False" &&
          token.text != "None")
        return std::nullopt;
    const auto program = jinja::parse(source);
    if (program->body.size() != 1 || program->body[0]->exprs.size() != 1 ||
        !is_literal(*program->body[0]->exprs[0]))
      return std::nullopt;
    jinja::Runtime rt{jinja::Limits{}};
    const std::unique_ptr<jinja::Program> as_json =
        jinja::parse("{{ (" + std::string(text) + ")|tojson }}");
    const std::string json = jinja::Evaluator(rt, *as_json, *jinja::DictBuilder(rt).build()).run();
    return json;
  } catch (const jinja::TemplateError&) {
    return std::nullopt;
  }
}

bool finite(const Value& v) {
  switch (v.kind) {
    case Kind::kFloat:
      return std::isfinite(v.real);
    case Kind::kList:
      return std::all_of(v.list->items().begin(), v.list->items().end(), finite);
    case Kind::kDict:
      return std::all_of(v.dict->items().begin(), v.dict->items().end(),
                         [](const auto& entry) { return finite(entry.value); });
    default:
      return true;
  }
}

// The text as JSON in json.dumps' own spelling.
std::optional<std::string> normalized_json(std::string_view text) {
  jinja::Runtime rt{jinja::Limits{}};
  try {
    const Value v = jinja::read_json(rt, text, "argument");
    if (!finite(v)) return std::nullopt;
    std::string out;
    jinja::write_json(rt, v, {}, &out);
    return out;
  } catch (const jinja::TemplateError&) {
    return std::nullopt;
  }
}

const Value* member(const Value& v, std::string_view key) {
  return v.is(Kind::kDict) ? find(*v.dict, key) : nullptr;
}

bool is_text(const Value& v, std::string_view text) { return v.is_str() && v.text() == text; }

// Which of text and null a schema allows, and whether it allows something else.
struct Allowed {
  bool text = false, null = false, other = false;
};

void collect(const Value& schema, Allowed* allowed, int depth) {
  const auto see = [&](const Value& type) {
    if (is_text(type, "string"))
      allowed->text = true;
    else if (is_text(type, "null"))
      allowed->null = true;
    else
      allowed->other = true;
  };
  if (depth > 8) return;
  for (const char* choice : {"anyOf", "oneOf"})
    if (const Value* options = member(schema, choice);
        options != nullptr && options->is(Kind::kList))
      for (const Value& option : options->list->items()) collect(option, allowed, depth + 1);
  if (const Value* type = member(schema, "type"); type != nullptr) {
    if (type->is(Kind::kList))
      for (const Value& one : type->list->items()) see(one);
    else
      see(*type);
  } else if (const Value* values = member(schema, "enum");
             values != nullptr && values->is(Kind::kList)) {
    for (const Value& one : values->list->items()) {
      if (one.is_str())
        allowed->text = true;
      else if (one.is_none())
        allowed->null = true;
      else
        allowed->other = true;
    }
  }
}

ArgumentType type_of(const Value& schema) {
  Allowed allowed;
  collect(schema, &allowed, 0);
  if (!allowed.text && !allowed.null && !allowed.other) return ArgumentType::kUnknown;
  if (!allowed.text || allowed.other) return ArgumentType::kOther;
  return allowed.null ? ArgumentType::kNullableString : ArgumentType::kString;
}

}  // namespace

Result<ToolSchema> ToolSchema::parse(std::string_view tools) {
  ToolSchema out;
  if (tools.empty()) return out;
  jinja::Runtime rt{jinja::Limits{}};
  try {
    const Value list = jinja::read_json(rt, tools, "tools");
    if (list.is_none()) return out;
    if (!list.is(Kind::kList)) jinja::fail("tools: expected a list, found " + type_name(list));
    for (const Value& tool : list.list->items()) {
      const Value* function = member(tool, "function");
      if (function == nullptr) function = &tool;
      const Value* name = member(*function, "name");
      if (name == nullptr || !name->is_str()) continue;
      auto& arguments = out.functions_[std::string(name->text())];
      const Value* parameters = member(*function, "parameters");
      const Value* properties = parameters == nullptr ? nullptr : member(*parameters, "properties");
      if (properties == nullptr || !properties->is(Kind::kDict)) continue;
      for (const auto& entry : properties->dict->items())
        if (entry.key.is_str()) arguments[std::string(entry.key.text())] = type_of(entry.value);
    }
  } catch (const jinja::TemplateError& error) {
    return Error{ErrorCode::kUsage, error.message};
  }
  return out;
}

ArgumentType ToolSchema::type(std::string_view function, std::string_view argument) const {
  const auto arguments = functions_.find(function);
  if (arguments == functions_.end()) return ArgumentType::kUnknown;
  const auto type = arguments->second.find(argument);
  return type == arguments->second.end() ? ArgumentType::kUnknown : type->second;
}

std::string json_escaped(std::string_view text) {
  const std::string quoted = json_quoted(text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string json_quoted(std::string_view text) {
  std::string out;
  jinja::append_json_string(text, false, &out);
  return out;
}

std::string argument_json(ArgumentType type, std::string_view text) {
  if (type == ArgumentType::kString) return json_quoted(text);
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  const std::string_view stripped = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  if (type == ArgumentType::kNullableString) return stripped == "null" ? "null" : json_quoted(text);
  if (const auto json = normalized_json(stripped)) return *json;
  if (type == ArgumentType::kOther)
    if (const auto json = python_literal_json(stripped)) return *json;
  return json_quoted(text);
}

std::optional<std::vector<JsonCall>> json_calls(std::string_view text) {
  jinja::Runtime rt{jinja::Limits{}};
  try {
    const Value read = jinja::read_json(rt, text, "calls");
    const Value list = read.is(Kind::kList) ? read : rt.list(std::span(&read, 1));
    std::vector<JsonCall> calls;
    for (const Value& one : list.list->items()) {
      const Value* function = member(one, "function");
      if (function == nullptr || !function->is(Kind::kDict)) function = &one;
      const Value* name = member(*function, "name");
      if (name == nullptr || !name->is_str() || name->text().empty()) return std::nullopt;
      const Value* arguments = member(*function, "arguments");
      if (arguments == nullptr) arguments = member(*function, "parameters");
      JsonCall call{std::string(name->text()), "{}"};
      if (arguments != nullptr && !arguments->is_none()) {
        const Value object = arguments->is_str() && !arguments->text().empty()
                                 ? jinja::read_json(rt, arguments->text(), "arguments")
                                 : *arguments;
        if (!object.is(Kind::kDict) || !finite(object)) return std::nullopt;
        call.arguments.clear();
        jinja::write_json(rt, object, {}, &call.arguments);
      }
      calls.push_back(std::move(call));
    }
    if (calls.empty()) return std::nullopt;
    return calls;
  } catch (const jinja::TemplateError&) {
    return std::nullopt;
  }
}

}  // namespace spindrift
