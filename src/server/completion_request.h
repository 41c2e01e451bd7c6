#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/generation_defaults.h"
#include "core/types.h"
#include "engine/draft_width.h"
#include "engine/sampler.h"
#include "engine/stop_rule.h"
#include "server/api_error.h"
#include "tokenizer/tokenizer.h"

namespace spindrift {
class JsonObject;
}

namespace spindrift::server {

// What a request is read against.
struct RequestContext {
  const GenerationDefaults& defaults;
  int64_t vocab = 0;
  int draft_depth = 0;           // of the longest path a drafter can propose
  std::string served_name = {};  // a request that names another model is refused; empty = any name
  DraftWidth draft = {};         // when the request does not say
  int max_choices = 128;
};

// What both completion endpoints take.
struct CommonFields {
  int choices = 1;  // of each prompt
  SamplingParams sampling;
  StopSpec stop;
  DraftWidth draft;
  std::optional<int32_t> top_logprobs;  // 0 = the chosen token's only
  bool stream = false;
  bool include_usage = false;
  bool return_token_ids = false;
  bool return_ledger = false;
};

struct ChatFields {
  CommonFields common;
  std::string messages_json;
  std::string tools_json;  // empty = none
  bool tool_calls = true;  // what looks like a call is one
  std::optional<bool> enable_thinking;
  std::vector<std::pair<std::string, std::string>> template_variables;
};

struct TextFields {
  CommonFields common;
  std::vector<std::variant<std::string, std::vector<TokenId>>> prompts;  // not empty
};

// Read a request's body: JSON as OpenAI's API has it, with the fields that other servers have added
// (docs/serving.md lists them). Fields of no meaning here are passed over; a wrong value is an
// error that names its parameter. Nothing but memory is touched.
std::variant<ChatFields, ApiError> read_chat_fields(std::string_view body,
                                                    const RequestContext& context);
std::variant<TextFields, ApiError> read_text_fields(std::string_view body,
                                                    const RequestContext& context);

struct TokenizeFields {
  std::string text;
  std::string messages_json;  // instead of text; empty = none
  bool add_special = true;
  bool spellings = false;
};
std::variant<TokenizeFields, ApiError> read_tokenize_fields(std::string_view body);
std::variant<std::vector<TokenId>, ApiError> read_detokenize_fields(std::string_view body,
                                                                    const Tokenizer& tokenizer);

}  // namespace spindrift::server
