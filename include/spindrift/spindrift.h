#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// Spindrift as a library: load a model folder, optionally with a drafter, and generate. Everything
// is computed on the calling thread and the model's own threads; the caller needs C++20 and nothing
// else.
namespace spindrift {

// Why something could not be done: one line that names the file or option, what was expected and
// what was found, and a next step or nothing.
struct Failure {
  enum class Kind : uint8_t {
    kUsage,    // the call is outside the contract
    kModel,    // a folder or a file in it is missing, damaged or not supported
    kLimit,    // the request does not fit: context or memory
    kRuntime,  // anything else
  };
  Kind kind = Kind::kRuntime;
  std::string message;
  std::string hint;
};

// A value or a Failure. Reading the one that is not there throws std::bad_variant_access.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Expected(Failure failure) : content_(std::in_place_index<1>, std::move(failure)) {}
  explicit operator bool() const { return content_.index() == 0; }
  T& operator*() { return std::get<0>(content_); }
  const T& operator*() const { return std::get<0>(content_); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }
  const Failure& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, Failure> content_;
};

struct ModelOptions {
  std::string model = {};        // a folder in Hugging Face layout, or an id in the local hub cache
  std::string draft_model = {};  // the same for a drafter; empty = none
  int threads = 0;               // 0 = the physical cores this process may use
  int64_t context = 0;           // tokens a conversation may have; 0 = the model's limit
  int64_t memory_limit = 0;      // bytes of keys, values and draft context; 0 = no limit
  bool kv_bf16 = false;          // keep keys and values as bfloat16: half the memory, other bits
};

struct ChatMessage {
  std::string role = {};  // "system", "user", "assistant"
  std::string content = {};
};

// What is left out comes from the model's generation_config.json, else greedy until the context
// ends.
struct GenerateOptions {
  std::optional<int64_t> max_new_tokens = {};
  std::optional<float> temperature = {};  // 0 = greedy
  std::optional<int> top_k = {};
  std::optional<float> top_p = {};
  std::optional<float> min_p = {};
  std::optional<float> repetition_penalty = {};
  uint64_t seed = 0;
  std::vector<std::string> stop = {};
  bool ignore_eos = false;
  // Tokens drafted a round; 0 = off; not given = chosen by cost.
  std::optional<int> draft_tokens = {};
  std::optional<bool> think = {};  // the template's enable_thinking
  // Gets the text of the answer as it is made (no reasoning); false ends the run.
  std::function<bool(std::string_view piece)> on_text = {};
};

struct Generated {
  std::vector<int32_t> prompt_ids;
  std::vector<int32_t> token_ids;      // the stop token included
  std::string text;                    // of a chat: the answer without reasoning and tool calls
  std::string reasoning;               // of a chat; empty when there was none
  std::string tool_calls_json = "[]";  // of a chat: an array as in OpenAI's API
  std::string finish_reason;           // "stop", "length" or "interrupted"
  // Of every token and the logits it was drawn from: the same with any drafter, or none.
  std::string ledger_digest;
  int64_t reused_tokens = 0;  // of the prompt, kept from the call before
  double prefill_s = 0;
  double decode_s = 0;
  int64_t rounds = 0;        // target forwards with a draft
  int64_t plain_rounds = 0;  // and without
  int64_t drafted = 0;
  int64_t accepted = 0;
};

// A loaded model. One call at a time; the keys and values of the last conversation are kept, so a
// call that continues it reads only what is new.
class Model {
 public:
  static Expected<Model> load(const ModelOptions& options);
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  // Continues `text` as it is, without a chat template.
  Expected<Generated> generate(std::string_view text, const GenerateOptions& options = {});
  // Answers a conversation through the model's chat template.
  Expected<Generated> chat(std::span<const ChatMessage> messages,
                           const GenerateOptions& options = {});
  // The same for JSON arrays as in OpenAI's API: messages of every role, tool calls and their
  // results among them, and the tools that the model may call (empty = none).
  Expected<Generated> chat_json(std::string_view messages, std::string_view tools = {},
                                const GenerateOptions& options = {});
  Expected<std::vector<int32_t>> tokenize(std::string_view text) const;
  // What is odd about the folders but did not keep them from loading, a line each.
  const std::vector<std::string>& warnings() const;
  // Forgets the last conversation.
  void forget();

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spindrift
