#include "chat/chat_template.h"

#include <chrono>
#include <fstream>
#include <system_error>

#include "chat/jinja/json.h"
#include "chat/jinja/template.h"
#include "chat/normalize_messages.h"
#include "core/utf8.h"
#include "io/json_config.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxTemplateBytes = 4 * 1024 * 1024;
constexpr const char* kTemplateFile = "chat_template.jinja";

// What a directory says about templates, before any is parsed.
struct Sources {
  std::string text, name;                    // the default one; empty name = none
  std::string tool_use_text, tool_use_name;  // likewise
};

// A link to nothing is there too: reading it then says what is wrong.
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

Result<std::string> read_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return Error{ErrorCode::kIo, path.string() + ": cannot be read: " + error.message()};
  if (size > kMaxTemplateBytes)
    return Error{ErrorCode::kInvalid, path.string() + ": a template may have at most " +
                                          std::to_string(kMaxTemplateBytes) + " bytes, found " +
                                          std::to_string(size)};
  std::ifstream file(path, std::ios::binary);
  std::string text(static_cast<size_t>(size), '\0');
  if (!file.read(text.data(), static_cast<std::streamsize>(size)))
    return Error{ErrorCode::kIo, path.string() + ": cannot be read"};
  return text;
}

// A template that only includes the file: some configs carry that instead of a copy.
bool only_includes_file(std::string_view text) {
  std::string plain;
  for (const char c : text)
    if (std::string_view(" \t\r\n\"'-").find(c) == std::string_view::npos) plain.push_back(c);
  return plain == "{%includechat_template.jinja%}";
}

// `chat_template` of a JSON file: one text, or a list of {name, template}.
Result<Sources> sources_in_json(const fs::path& path) {
  SPINDRIFT_TRY(const JsonObject config, JsonObject::parse_file(path));
  Sources found;
  const std::string name = path.string() + ": chat_template";
  if (!config.has("chat_template")) return found;
  if (!config.is_array("chat_template")) {
    SPINDRIFT_TRY(found.text, config.get_string("chat_template"));
    if (only_includes_file(found.text))
      return Error{ErrorCode::kNotFound,
                   name + ": includes " + kTemplateFile + ", expected beside it, found nothing"};
    found.name = name;
    return found;
  }
  SPINDRIFT_TRY(const auto entries, config.get_objects("chat_template"));
  for (const JsonObject& entry : entries) {
    SPINDRIFT_TRY(const std::string label, entry.get_string("name"));
    SPINDRIFT_TRY(std::string text, entry.get_string("template"));
    if (label == "default") {
      found.text = std::move(text);
      found.name = name + " 'default'";
    } else if (label == "tool_use") {
      found.tool_use_text = std::move(text);
      found.tool_use_name = name + " 'tool_use'";
    }
  }
  if (found.name.empty())
    return Error{ErrorCode::kUnsupported, name + ": expected an entry named 'default', found none"};
  return found;
}

Result<Sources> find_sources(const fs::path& dir) {
  Sources found;
  if (const fs::path file = dir / kTemplateFile; is_there(file)) {
    SPINDRIFT_TRY(found.text, read_file(file));
    found.name = file.string();
    if (found.text.empty())
      return Error{ErrorCode::kInvalid, found.name + ": expected a chat template, found no text"};
    return found;
  }
  for (const char* file : {"chat_template.json", "tokenizer_config.json"}) {
    if (!is_there(dir / file)) continue;
    SPINDRIFT_TRY(found, sources_in_json(dir / file));
    if (!found.name.empty()) return found;
  }
  return found;
}

ToolCallFormat format_of(std::string_view source) {
  if (source.find("<|tool_call|>") != std::string_view::npos) return ToolCallFormat::kGranite;
  if (source.find("<tool_call>") != std::string_view::npos) return ToolCallFormat::kPoolside;
  return ToolCallFormat::kNone;
}

}  // namespace

std::string messages_json(std::span<const Message> messages) {
  std::string out = "[";
  for (const Message& message : messages) {
    if (out.size() > 1) out += ", ";
    out += "{\"role\": ";
    jinja::append_json_string(message.role, false, &out);
    out += ", \"content\": ";
    jinja::append_json_string(message.content, false, &out);
    out += "}";
  }
  return out + "]";
}

ChatTime ChatTime::now() {
  const auto moment = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(moment);
  ChatTime out;
  localtime_r(&seconds, &out.local);
  const auto fraction = moment - std::chrono::system_clock::from_time_t(seconds);
  out.microseconds =
      static_cast<int>(std::chrono::duration_cast<std::chrono::microseconds>(fraction).count());
  return out;
}

ChatTemplate::ChatTemplate() = default;
ChatTemplate::~ChatTemplate() = default;

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::parse(std::string_view source,
                                                          std::string name) {
  SPINDRIFT_TRY(jinja::Template parsed, jinja::Template::parse(source, std::move(name)));
  std::unique_ptr<ChatTemplate> out(new ChatTemplate());
  out->tool_call_format_ = format_of(source);
  out->default_ = std::make_unique<const jinja::Template>(std::move(parsed));
  return out;
}

Result<std::unique_ptr<ChatTemplate>> ChatTemplate::load(const std::filesystem::path& model_dir) {
  SPINDRIFT_TRY(const Sources found, find_sources(model_dir));
  if (found.name.empty()) return std::unique_ptr<ChatTemplate>();
  SPINDRIFT_TRY(std::unique_ptr<ChatTemplate> out, parse(found.text, found.name));
  if (!found.tool_use_name.empty()) {
    SPINDRIFT_TRY(jinja::Template tool_use,
                  jinja::Template::parse(found.tool_use_text, found.tool_use_name));
    if (out->tool_call_format_ == ToolCallFormat::kNone)
      out->tool_call_format_ = format_of(found.tool_use_text);
    out->tool_use_ = std::make_unique<const jinja::Template>(std::move(tool_use));
  }
  return out;
}

Result<std::string> ChatTemplate::render(const ChatRequest& request) const {
  const jinja::Template& chosen = tool_use_ && !request.tools.empty() ? *tool_use_ : *default_;
  const ChatTime now = request.now ? *request.now : ChatTime::now();
  const auto variables = [&](jinja::Runtime& rt) {
    jinja::DictBuilder out(rt);
    for (const auto& [name, text] : request.special_tokens) {
      if (!valid_utf8(text)) jinja::fail(name + ": expected UTF-8, found bytes that are not");
      out.set(name, rt.text(text));
    }
    out.set("messages",
            jinja::normalize_messages(rt, jinja::read_json(rt, request.messages, "messages"),
                                      chosen.reads_content_parts()));
    out.set("tools",
            request.tools.empty() ? jinja::Value::none() : jinja::read_tools(rt, request.tools));
    out.set("documents", jinja::Value::none());
    out.set("add_generation_prompt", jinja::Value::of(request.add_generation_prompt));
    if (request.enable_thinking)
      out.set("enable_thinking", jinja::Value::of(*request.enable_thinking));
    for (const auto& [name, text] : request.variables)
      out.set(name, jinja::read_json(rt, text, "variable '" + name + "'"));
    return out.build();
  };
  return chosen.render(variables, {.limits = {},
                                   .now = now.local,
                                   .microseconds = now.microseconds,
                                   .name = request.template_name});
}

}  // namespace spindrift
