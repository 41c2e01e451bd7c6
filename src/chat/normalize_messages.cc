#include "chat/normalize_messages.h"

#include <string>
#include <vector>

#include "chat/jinja/error.h"
#include "chat/jinja/json.h"

namespace spindrift::jinja {
namespace {

// A copy of `dict` in which one key has another value.
Value replaced(Runtime& rt, const Dict& dict, std::string_view key, const Value& value) {
  DictBuilder out(rt);
  for (const Dict::Entry& entry : dict.items())
    out.set(entry.key, entry.key.is_str() && entry.key.text() == key ? value : entry.value);
  return Value::of(out.build());
}

bool looks_like_object(std::string_view json) {
  const size_t at = json.find_first_not_of(" \t\r\n");
  return at != std::string_view::npos && json[at] == '{';
}

// {"name": ..., "arguments": text} with the arguments as an object, when the text is one.
Value with_object_arguments(Runtime& rt, const Value& function, const std::string& where) {
  if (!function.is(Kind::kDict)) return function;
  const Value* arguments = find(*function.dict, "arguments");
  if (arguments == nullptr || !arguments->is_str()) return function;
  Value object;
  if (arguments->text().empty()) {
    object = Value::of(DictBuilder(rt).build());
  } else if (looks_like_object(arguments->text())) {
    object = read_json(rt, arguments->text(), where + ".arguments");
  } else {
    return function;
  }
  return replaced(rt, *function.dict, "arguments", object);
}

Value normalize_calls(Runtime& rt, const Value& calls, const std::string& where) {
  std::vector<Value> out;
  for (const Value& call : calls.list->items()) {
    const std::string at = where + "[" + std::to_string(out.size()) + "]";
    if (!call.is(Kind::kDict)) fail(at + ": expected an object, found " + type_name(call));
    const Value* function = find(*call.dict, "function");
    if (function == nullptr) {
      out.push_back(with_object_arguments(rt, call, at));
    } else {
      out.push_back(replaced(rt, *call.dict, "function",
                             with_object_arguments(rt, *function, at + ".function")));
    }
  }
  return rt.list(out);
}

Value join_parts(Runtime& rt, const Value& parts, const std::string& where) {
  std::string out;
  size_t index = 0;
  for (const Value& part : parts.list->items()) {
    const std::string at = where + "[" + std::to_string(index++) + "]";
    if (index > 1) out.push_back('\n');
    if (part.is_str()) {
      out.append(part.text());
      continue;
    }
    if (!part.is(Kind::kDict)) fail(at + ": expected an object, found " + type_name(part));
    const Value* type = find(*part.dict, "type");
    const Value* text = find(*part.dict, "text");
    if (type != nullptr && !(type->is_str() && type->text() == "text"))
      fail(at + ".type: only \"text\" parts are supported, found " + to_repr(rt, *type));
    if (text == nullptr || !text->is_str()) fail(at + ".text: expected a text, found none");
    out.append(text->text());
  }
  return rt.text(out);
}

}  // namespace

Value normalize_messages(Runtime& rt, const Value& messages, bool keep_parts) {
  if (!messages.is(Kind::kList)) fail("messages: expected a list, found " + type_name(messages));
  std::vector<Value> out;
  for (Value message : messages.list->items()) {
    const std::string at = "messages[" + std::to_string(out.size()) + "]";
    if (!message.is(Kind::kDict)) fail(at + ": expected an object, found " + type_name(message));
    const Value* role = find(*message.dict, "role");
    if (role == nullptr || !role->is_str()) fail(at + ".role: expected a text, found none");
    if (const Value* content = find(*message.dict, "content");
        !keep_parts && content != nullptr && content->is(Kind::kList))
      message = replaced(rt, *message.dict, "content", join_parts(rt, *content, at + ".content"));
    if (const Value* calls = find(*message.dict, "tool_calls");
        calls != nullptr && calls->is(Kind::kList))
      message = replaced(rt, *message.dict, "tool_calls",
                         normalize_calls(rt, *calls, at + ".tool_calls"));
    out.push_back(message);
  }
  return rt.list(out);
}

Value read_tools(Runtime& rt, std::string_view json) {
  const Value tools = read_json(rt, json, "tools");
  if (tools.is_none()) return tools;
  if (!tools.is(Kind::kList)) fail("tools: expected a list, found " + type_name(tools));
  for (size_t i = 0; i < tools.list->size; ++i)
    if (!tools.list->data[i].is(Kind::kDict))
      fail("tools[" + std::to_string(i) + "]: expected an object, found " +
           type_name(tools.list->data[i]));
  return tools;
}

}  // namespace spindrift::jinja
