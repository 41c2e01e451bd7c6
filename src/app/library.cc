// The public C++ interface (include/spindrift/spindrift.h) over the composition root and the
// engine.
#include <array>
#include <atomic>
#include <utility>

#include "app/answer.h"
#include "app/assemble.h"
#include "app/prompt.h"
#include "engine/engine.h"
#include "spindrift/spindrift.h"

namespace spindrift {
namespace {

Failure failure(const Error& error) {
  Failure out{.kind = Failure::Kind::kRuntime, .message = error.message, .hint = error.hint};
  switch (error.code) {
    case ErrorCode::kUsage:
      out.kind = Failure::Kind::kUsage;
      break;
    case ErrorCode::kLimit:
      out.kind = Failure::Kind::kLimit;
      break;
    case ErrorCode::kInvalid:
    case ErrorCode::kUnsupported:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
      out.kind = Failure::Kind::kModel;
      break;
    case ErrorCode::kIo:
    case ErrorCode::kBusy:
    case ErrorCode::kStopping:
    case ErrorCode::kTimeout:
      break;
  }
  return out;
}

SamplingParams sampling(const GenerationDefaults& defaults, const GenerateOptions& options) {
  SamplingParams out = defaults.sampling;
  out.temperature = options.temperature.value_or(out.temperature);
  out.top_k = options.top_k.value_or(out.top_k);
  out.top_p = options.top_p.value_or(out.top_p);
  out.min_p = options.min_p.value_or(out.min_p);
  out.repetition_penalty = options.repetition_penalty.value_or(out.repetition_penalty);
  out.seed = options.seed;
  return out;
}

DraftWidth width(const std::optional<int>& draft_tokens) {
  if (!draft_tokens) return {};
  return {.mode = DraftWidth::Mode::kFixed, .tokens = *draft_tokens};
}

// Hands text to the caller, through the splitter when the prompt was a chat.
class Caller final : public RequestListener {
 public:
  Caller(const GenerateOptions& options, AnswerStream* answer, std::atomic<bool>& stop)
      : options_(options), answer_(answer), stop_(stop) {}
  void on_text(std::string_view piece, bool) override {
    if (answer_ == nullptr)
      show(piece);
    else
      show(answer_->push(piece));
  }
  void show(const std::vector<AnswerPiece>& pieces) {
    for (const AnswerPiece& piece : pieces)
      if (piece.kind == AnswerPiece::Kind::kContent) show(piece.text);
  }

 private:
  void show(std::string_view text) {
    if (options_.on_text && !text.empty() && !options_.on_text(text)) stop_ = true;
  }
  const GenerateOptions& options_;
  AnswerStream* answer_;
  std::atomic<bool>& stop_;
};

}  // namespace

struct Model::State {
  State(std::unique_ptr<Assembly> loaded, const EngineOptions& options)
      : parts(std::move(loaded)),
        engine(parts->target(), parts->drafter(), parts->exec(), options) {}

  // `tools`: of the chat that the prompt renders; nullopt = the prompt is no chat.
  Expected<Generated> run(const Prompt& prompt, const GenerateOptions& options,
                          std::optional<std::string_view> tools);
  Expected<Generated> chat(std::string messages, std::string tools, const GenerateOptions& options);

  std::unique_ptr<Assembly> parts;
  Engine engine;
  std::unique_ptr<Conversation> conversation;
};

Expected<Generated> Model::State::run(const Prompt& prompt, const GenerateOptions& options,
                                      std::optional<std::string_view> tools) {
  const bool chat = tools.has_value();
  AnswerStream answer(*parts, {.prompt = prompt.text, .tools = tools.value_or(""), .split = chat});
  std::atomic<bool> stop{false};
  Caller caller(options, chat ? &answer : nullptr, stop);
  const GenerationDefaults& defaults = parts->defaults();
  Request request;
  request.prompt = prompt.ids;
  request.sampling = sampling(defaults, options);
  request.stop = {
      .ids = defaults.stop_ids,
      .texts = options.stop,
      .ignore_eos = options.ignore_eos,
      .max_new_tokens = options.max_new_tokens ? options.max_new_tokens : defaults.max_new_tokens};
  request.draft = width(options.draft_tokens);
  request.ledger = true;
  request.text = answer_decoder(*parts, chat);
  request.conversation = std::move(conversation);
  request.cancelled = &stop;
  request.listener = &caller;
  Result<Outcome> run = engine.run(std::move(request));
  if (!run.ok()) return failure(run.error());
  Outcome& out = run.value();
  conversation = std::move(out.conversation);
  if (out.error) return failure(*out.error);
  if (chat) caller.show(answer.finish());
  const DraftStats& draft = out.stats.draft;
  return Generated{.prompt_ids = prompt.ids,
                   .token_ids = std::move(out.tokens),
                   .text = chat ? answer.content() : std::move(out.text),
                   .reasoning = chat ? answer.reasoning().value_or("") : "",
                   .tool_calls_json = chat ? answer.tool_calls_json() : "[]",
                   .finish_reason = std::string(name(out.reason)),
                   .ledger_digest = std::move(out.ledger_digest),
                   .reused_tokens = out.stats.reused_tokens,
                   .prefill_s = out.stats.prefill_s,
                   .decode_s = out.stats.decode_s,
                   .rounds = draft.rounds,
                   .plain_rounds = draft.plain_rounds,
                   .drafted = draft.drafted,
                   .accepted = draft.accepted};
}

Expected<Generated> Model::State::chat(std::string messages, std::string tools,
                                       const GenerateOptions& options) {
  const ChatInput input = {.messages_json = std::move(messages),
                           .tools_json = std::move(tools),
                           .enable_thinking = options.think};
  const Result<Prompt> prompt = chat_prompt(*parts, input);
  if (!prompt.ok()) return failure(prompt.error());
  return run(prompt.value(), options, input.tools_json);
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Expected<Model> Model::load(const ModelOptions& options) {
  AssembleOptions wanted;
  wanted.model = options.model;
  wanted.draft_model = options.draft_model;
  wanted.threads = options.threads;
  wanted.kv_dtype = options.kv_bf16 ? DType::kBf16 : DType::kF32;
  EngineOptions engine;
  engine.max_running = 1;
  engine.memory_budget = options.memory_limit;
  engine.context = options.context;
  Result<std::unique_ptr<Assembly>> parts = assemble(wanted);
  if (!parts.ok()) return failure(parts.error());
  return Model(std::make_unique<State>(std::move(parts).value(), engine));
}

Expected<Generated> Model::generate(std::string_view text, const GenerateOptions& options) {
  const Result<Prompt> prompt = raw_prompt(state_->parts->tokenizer(), text);
  if (!prompt.ok()) return failure(prompt.error());
  return state_->run(prompt.value(), options, std::nullopt);
}

Expected<Generated> Model::chat(std::span<const ChatMessage> messages,
                                const GenerateOptions& options) {
  std::vector<Message> turns;
  for (const ChatMessage& m : messages) turns.push_back({.role = m.role, .content = m.content});
  return state_->chat(messages_json(turns), {}, options);
}

Expected<Generated> Model::chat_json(std::string_view messages, std::string_view tools,
                                     const GenerateOptions& options) {
  return state_->chat(std::string(messages), std::string(tools), options);
}

Expected<std::vector<int32_t>> Model::tokenize(std::string_view text) const {
  Result<std::vector<TokenId>> ids = state_->parts->tokenizer().encode(text);
  if (!ids.ok()) return failure(ids.error());
  return std::move(ids).value();
}

const std::vector<std::string>& Model::warnings() const { return state_->parts->warnings(); }

void Model::forget() { state_->conversation.reset(); }

}  // namespace spindrift
