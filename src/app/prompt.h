#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/assemble.h"
#include "core/result.h"
#include "core/types.h"

namespace spindrift {

// What the model reads, as text and as ids.
struct Prompt {
  std::string text;  // empty when it was given as ids
  std::vector<TokenId> ids;
};

// bos_token, eos_token ... as the variables of a template.
std::map<std::string, std::string> template_tokens(const SpecialTokens& tokens);

// A conversation to answer.
struct ChatInput {
  std::string messages_json;            // an array as in OpenAI's API
  std::string tools_json;               // an array, or empty
  std::optional<bool> enable_thinking;  // nullopt = the model's default, else the template's own
  // More variables of the template: name and JSON value.
  std::vector<std::pair<std::string, std::string>> variables = {};
  std::string template_name = {};  // how errors call the template; empty = by its file
};

// Text as it is, with what the tokenizer adds in front (BOS).
Result<Prompt> raw_prompt(const Tokenizer& tokenizer, std::string_view text);
// A conversation through the chat template, with a generation prompt; a rendered text that starts
// with the BOS text gets no second one. kUnsupported when the model has no template.
Result<Prompt> chat_prompt(const Assembly& assembly, const ChatInput& input);
// One question of a user: a chat where the model has a template, else raw text.
Result<Prompt> user_prompt(const Assembly& assembly, std::string_view question);

}  // namespace spindrift
