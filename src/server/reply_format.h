#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/assemble.h"
#include "app/prompt.h"
#include "engine/request.h"
#include "server/completion_request.h"
#include "server/generation.h"

namespace spindrift::server {

// A completion request, ready to run. Answer a belongs to prompt a / common.choices and is its
// choice a % common.choices.
struct Job {
  CommonFields common;
  std::vector<Prompt> prompts;
  std::string tools_json;  // chat: as the prompt was rendered with
  bool tool_calls = true;  // chat
  std::string id;          // 24 hex digits
  int64_t created = 0;     // Unix time
  std::string model;       // as the reply names it

  size_t answers() const { return prompts.size() * static_cast<size_t>(common.choices); }
  const Prompt& prompt(size_t answer) const {
    return prompts[answer / static_cast<size_t>(common.choices)];
  }
};

// Turns what the engine makes into the objects of OpenAI's API. One thread.
class ReplyFormat {
 public:
  ReplyFormat(const Assembly& assembly, const Job& job) : assembly_(assembly), job_(job) {}
  virtual ~ReplyFormat() = default;

  // Server-sent events, each "data: JSON\n\n". begin(): before anything is there. chunks(): of what
  // an answer brought; its outcome ends it. end(): the usage, when it was asked for, and [DONE].
  virtual std::string begin() = 0;
  virtual std::string chunks(size_t answer, Progress progress) = 0;
  std::string end();
  // The whole reply at once; what[a] is all that answer a brought.
  virtual std::string body(std::vector<Progress> what) = 0;

  // The outcomes that chunks() or body() have taken, in the order they came.
  std::span<const Outcome> outcomes() const { return outcomes_; }

 protected:
  const Assembly& assembly() const { return assembly_; }
  const Job& job() const { return job_; }
  void keep(size_t answer, Outcome outcome);
  bool is_stop_id(TokenId id) const;
  // The reply around an array of choices, with the usage.
  std::string whole(const std::string& choices) const;
  // One event around choice objects, comma separated.
  std::string event(const std::string& choices) const;

 private:
  // An object without its last brace: id, object as the subclass names it, created, model.
  std::string envelope(bool chunk) const;
  std::string usage_json() const;
  virtual const char* id_prefix() const = 0;
  virtual const char* object(bool chunk) const = 0;

  const Assembly& assembly_;
  const Job& job_;
  std::vector<Outcome> outcomes_;
  int64_t cached_ = 0;  // prompt tokens that were not read again
};

// For /v1/chat/completions and /v1/completions; assembly and job must outlive them.
std::unique_ptr<ReplyFormat> make_chat_format(const Assembly& assembly, const Job& job);
std::unique_ptr<ReplyFormat> make_text_format(const Assembly& assembly, const Job& job);

// The text that one token stands for, special ones spelled out; what is no UTF-8 is U+FFFD.
std::string token_text(const Tokenizer& tokenizer, TokenId id);

}  // namespace spindrift::server
