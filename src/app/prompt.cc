#include "app/prompt.h"

#include <array>

namespace spindrift {

std::map<std::string, std::string> template_tokens(const SpecialTokens& tokens) {
  std::map<std::string, std::string> out;
  const auto add = [&](const char* name, const std::optional<std::string>& text) {
    if (text) out[name] = *text;
  };
  add("bos_token", tokens.bos);
  add("eos_token", tokens.eos);
  add("unk_token", tokens.unk);
  add("sep_token", tokens.sep);
  add("pad_token", tokens.pad);
  add("cls_token", tokens.cls);
  add("mask_token", tokens.mask);
  return out;
}

Result<Prompt> raw_prompt(const Tokenizer& tokenizer, std::string_view text) {
  Prompt out{.text = std::string(text), .ids = {}};
  const bool has_bos = !tokenizer.bos_text().empty() && text.starts_with(tokenizer.bos_text());
  SPINDRIFT_TRY(out.ids, tokenizer.encode(text, {.add_special = !has_bos}));
  return out;
}

Result<Prompt> chat_prompt(const Assembly& assembly, const ChatInput& input) {
  const ChatTemplate* chat_template = assembly.chat_template();
  if (chat_template == nullptr)
    return Error{ErrorCode::kUnsupported,
                 (input.template_name.empty() ? assembly.model_name() : input.template_name) +
                     ": expected a chat template, found none",
                 "give text with --raw"};
  ChatRequest request;
  request.messages = input.messages_json;
  request.tools = input.tools_json;
  request.enable_thinking =
      input.enable_thinking ? input.enable_thinking : assembly.defaults().enable_thinking;
  request.variables = input.variables;
  request.template_name = input.template_name;
  request.special_tokens = template_tokens(assembly.special_tokens());
  SPINDRIFT_TRY(const std::string text, chat_template->render(request));
  return raw_prompt(assembly.tokenizer(), text);
}

Result<Prompt> user_prompt(const Assembly& assembly, std::string_view question) {
  if (assembly.chat_template() == nullptr) return raw_prompt(assembly.tokenizer(), question);
  const std::array messages = {Message{.role = "user", .content = std::string(question)}};
  return chat_prompt(
      assembly,
      {.messages_json = messages_json(messages), .tools_json = {}, .enable_thinking = {}});
}

}  // namespace spindrift
