#pragma once

#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/tool_calls.h"
#include "core/result.h"

namespace spindrift {

namespace jinja {
class Template;
}

struct Message {
  std::string role;
  std::string content;
};

// The messages as the JSON array that ChatRequest takes.
std::string messages_json(std::span<const Message> messages);

// A moment as strftime_now tells it.
struct ChatTime {
  std::tm local = {};
  int microseconds = 0;
  static ChatTime now();
};

// One conversation to render. JSON values reach the template whole: key order kept, numbers of any
// size, 1.0 stays 1.0.
struct ChatRequest {
  // An array of messages as in OpenAI's API. Before rendering, tool call `arguments` given as JSON
  // text become objects, and a `content` of text parts becomes one text (parts joined by newlines)
  // unless the template reads parts itself.
  std::string messages;
  std::string tools = {};  // an array of tools, or empty for none
  bool add_generation_prompt = true;
  std::optional<bool> enable_thinking = {};  // not given: the template's own default
  // More variables: name and JSON value. They win over all others.
  std::vector<std::pair<std::string, std::string>> variables = {};
  // bos_token, eos_token ... and their texts; variables of the template.
  std::map<std::string, std::string> special_tokens = {};
  std::optional<ChatTime> now = {};  // not given: the clock of this machine
  std::string template_name = {};    // how errors call the template; empty = its file
};

// A model's chat template, const once loaded; renders may run in parallel. Output equals python
// jinja2's, set up as transformers does, byte for byte. Rendering is bounded: an endless loop, deep
// recursion or an output without end is an error within about a second.
class ChatTemplate {
 public:
  // The template of a model directory: chat_template.jinja, else chat_template.json, else
  // `chat_template` in tokenizer_config.json (one text, or a list of named ones of which `default`
  // and, with tools, `tool_use` are used). Null when the model has none. Errors: kInvalid,
  // kUnsupported, kIo, with the file and, for templates, the line.
  static Result<std::unique_ptr<ChatTemplate>> load(const std::filesystem::path& model_dir);
  // name: how errors call the template.
  static Result<std::unique_ptr<ChatTemplate>> parse(std::string_view source, std::string name);
  ~ChatTemplate();

  // The prompt text. Errors: kUsage when the request is malformed (not JSON, a content part that is
  // no text), kInvalid when the template fails or does not end, with "NAME:LINE: what".
  Result<std::string> render(const ChatRequest& request) const;

  // How a model with this template writes tool calls, by the tags the template itself uses.
  ToolCallFormat tool_call_format() const { return tool_call_format_; }

 private:
  ChatTemplate();
  ToolCallFormat tool_call_format_ = ToolCallFormat::kNone;
  std::unique_ptr<const jinja::Template> default_;
  std::unique_ptr<const jinja::Template> tool_use_;  // null: `default_` serves tools too
};

}  // namespace spindrift
