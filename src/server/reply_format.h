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
  ReplyFormat(const Assembly& assembly, const Job& job)
      : assembly_(assembly), job_(job), waiting_(job.answers()) {}
  virtual ~ReplyFormat() = default;

  // Server-sent events, each "data: JSON\n\n". begin(): before anything is there. chunks(): of what
  // an answer brought; its outcome ends it. end(): the usage, when it was asked for, and [DONE].
  virtual std::string begin() = 0;
  std::string chunks(size_t answer, Progress progress);
  std::string end();
  // The whole reply at once; what[a] is all that answer a brought.
  std::string body(std::vector<Progress> what);

  // The outcomes that chunks() or body() have taken, in the order they came.
  std::span<const Outcome> outcomes() const { return outcomes_; }

 protected:
  const Assembly& assembly() const { return assembly_; }
  const Job& job() const { return job_; }
  bool is_stop_id(TokenId id) const;
  // One event of one choice: the members of `content`, a JSON object, and the tokens that have come
  // since the last one. `outcome`: of an answer that ends here, else null.
  std::string chunk(size_t answer, const std::string& content, const Outcome* outcome = nullptr);

 private:
  // What a choice of its own kind has, each a JSON object. pieces(): of some text in a stream, or
  // of none yet; last_pieces(): of what was held back, and of the end; whole(): of the full text.
  virtual std::vector<std::string> pieces(size_t answer, const Progress::Text& text) = 0;
  virtual std::vector<std::string> last_pieces(size_t answer) = 0;
  virtual std::string whole(size_t answer, const std::string& text) = 0;
  virtual std::string finish_reason(size_t answer, const Outcome& outcome) const = 0;
  // Of tokens in the order they came; ids that stop have none.
  virtual std::string logprobs_json(size_t answer, const std::vector<Progress::Token>& tokens) = 0;
  virtual const char* id_prefix() const = 0;
  virtual const char* object(bool chunk) const = 0;

  // A choice around `content`; logprobs: JSON, or empty = null.
  std::string choice(size_t answer, const std::string& content, const std::string& logprobs,
                     std::span<const TokenId> ids, const Outcome* outcome) const;
  void keep(size_t answer, Outcome outcome);
  // An object without its last brace: id, object as the subclass names it, created, model.
  std::string envelope(bool chunk) const;
  std::string usage_json() const;

  const Assembly& assembly_;
  const Job& job_;
  std::vector<std::vector<Progress::Token>> waiting_;  // of each answer, not yet in a chunk
  std::vector<Outcome> outcomes_;
  int64_t cached_ = 0;  // prompt tokens that were not read again
};

// For /v1/chat/completions and /v1/completions; assembly and job must outlive them.
std::unique_ptr<ReplyFormat> make_chat_format(const Assembly& assembly, const Job& job);
std::unique_ptr<ReplyFormat> make_text_format(const Assembly& assembly, const Job& job);

// The text that one token stands for, special ones spelled out; what is no UTF-8 is U+FFFD.
std::string token_text(const Tokenizer& tokenizer, TokenId id);

}  // namespace spindrift::server
