// The endpoints that generate: from fields to prompts, answers and their formats.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <iterator>
#include <random>
#include <utility>

#include "app/answer.h"
#include "app/prompt.h"
#include "server/generation.h"
#include "server/service_model.h"

namespace spindrift::server {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{50};  // how often a waiting thread looks for its client

// 24 hex digits, not to be guessed from earlier ones.
std::string fresh_id() {
  std::random_device random;
  std::array<char, 25> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x%08x", random(), random(), random());
  return text.data();
}

// Of a text with more bytes than any prompt of that many tokens has: whoever reads it into tokens
// holds a multiple of it.
std::optional<ApiError> too_long(int64_t bytes, int64_t context, const char* param) {
  constexpr int64_t kBytesOfAToken = 256;
  if (bytes / kBytesOfAToken <= context) return std::nullopt;
  return ApiError{.message = std::string(param) + ": expected fewer than " +
                             std::to_string(context) + " tokens (the context), found a text of " +
                             std::to_string(bytes) + " bytes",
                  .param = param,
                  .code = "context_length_exceeded"};
}

std::string error_event(const ApiError& error) {
  return "data: " + error_json(error) + "\n\ndata: [DONE]\n\n";
}

}  // namespace

// A completion request from submission to its last byte.
struct Service::Running {
  Job job;
  bool chat = true;
  steady_clock::time_point arrived;
  std::unique_ptr<ReplyFormat> format;  // of job
  std::unique_ptr<Generation> generation;
};

class Service::Stream final : public BodyStream {
 public:
  Stream(const Service& service, std::unique_ptr<Running> running)
      : service_(service), running_(std::move(running)), ended_(running_->job.answers(), false) {}
  ~Stream() override {
    try {
      service_.record(*running_);
    } catch (const std::exception&) {
      // Out of memory: a line of the log is lost.
    }
  }

  bool next(std::string& out) override {
    if (!begun_) {
      begun_ = true;
      out = running_->format->begin();
      if (!out.empty()) return true;
    }
    running_->generation->wait(kTurn);
    for (size_t a = 0; a < ended_.size(); ++a) {
      if (ended_[a]) continue;
      Progress progress = running_->generation->take(a);
      if (progress.empty()) continue;
      if (progress.outcome) {
        if (const auto error = failure(*progress.outcome)) {
          out += error_event(*error);
          return false;
        }
        ended_[a] = true;
      }
      out += running_->format->chunks(a, std::move(progress));
    }
    if (std::find(ended_.begin(), ended_.end(), false) != ended_.end()) return true;
    out += running_->format->end();
    return false;
  }

  static std::optional<ApiError> failure(const Outcome& outcome) {
    if (outcome.error) return api_error(*outcome.error);
    if (outcome.reason != FinishReason::kInterrupted) return std::nullopt;
    return ApiError{.status = 503, .message = "the answer was cut off", .code = "interrupted"};
  }

 private:
  const Service& service_;
  std::unique_ptr<Running> running_;
  std::vector<bool> ended_;
  bool begun_ = false;
};

HttpReply Service::chat(const HttpRequest& request, const Peer& peer) {
  auto read = read_chat_fields(request.body, model_->context());
  if (const auto* error = std::get_if<ApiError>(&read)) return error_reply(*error);
  auto& fields = std::get<ChatFields>(read);
  if (const auto error = too_long(std::ssize(fields.messages_json) + std::ssize(fields.tools_json),
                                  model_->engine.context(), "messages"))
    return error_reply(*error);
  auto prompt = chat_prompt(model_->assembly, {.messages_json = fields.messages_json,
                                               .tools_json = fields.tools_json,
                                               .enable_thinking = fields.enable_thinking,
                                               .variables = fields.template_variables,
                                               .template_name = kTemplateName});
  if (!prompt.ok()) return error_reply(api_error(prompt.error(), "messages"));
  auto running = std::make_unique<Running>();
  running->job.common = std::move(fields.common);
  running->job.prompts.push_back(std::move(prompt).value());
  running->job.tools_json = std::move(fields.tools_json);
  running->job.tool_calls = fields.tool_calls;
  return run(std::move(running), request, peer);
}

HttpReply Service::text(const HttpRequest& request, const Peer& peer) {
  auto read = read_text_fields(request.body, model_->context());
  if (const auto* error = std::get_if<ApiError>(&read)) return error_reply(*error);
  auto& fields = std::get<TextFields>(read);
  auto running = std::make_unique<Running>();
  running->chat = false;
  running->job.common = std::move(fields.common);
  for (auto& given : fields.prompts) {
    if (auto* ids = std::get_if<std::vector<TokenId>>(&given)) {
      running->job.prompts.push_back({.text = {}, .ids = std::move(*ids)});
      continue;
    }
    const auto& words = std::get<std::string>(given);
    if (const auto error = too_long(std::ssize(words), model_->engine.context(), "prompt"))
      return error_reply(*error);
    auto prompt = raw_prompt(model_->assembly.tokenizer(), words);
    if (!prompt.ok()) return error_reply(api_error(prompt.error(), "prompt"));
    running->job.prompts.push_back(std::move(prompt).value());
  }
  return run(std::move(running), request, peer);
}

std::optional<ApiError> Service::submit(Running& running, const HttpRequest& request) {
  const Job& job = running.job;
  const CommonFields& common = job.common;
  running.generation = std::make_unique<Generation>(
      model_->thread, metrics_, request.arrived,
      Generation::Options{.keep_text = common.stream,
                          .keep_tokens = common.top_logprobs.has_value() ||
                                         (common.stream && common.return_token_ids)});
  for (size_t a = 0; a < job.answers(); ++a) {
    Request next;
    next.prompt = job.prompt(a).ids;
    next.sampling = common.sampling;
    next.sampling.stream = static_cast<uint32_t>(a % static_cast<size_t>(common.choices));
    next.stop = common.stop;
    next.draft = common.draft;
    next.ledger = common.return_ledger;
    next.top_logprobs = common.top_logprobs;
    next.text = answer_decoder(model_->assembly, running.chat);
    if (model_->options.request_timeout.count() > 0)
      next.deadline = request.arrived + model_->options.request_timeout;
    if (const auto accepted = running.generation->submit(std::move(next)); !accepted.ok())
      return api_error(accepted.error(), running.chat ? "messages" : "prompt");
  }
  return std::nullopt;
}

HttpReply Service::run(std::unique_ptr<Running> running, const HttpRequest& request,
                       const Peer& peer) {
  Job& job = running->job;
  job.id = fresh_id();
  job.created = std::time(nullptr);
  job.model = model_->name;
  running->arrived = request.arrived;
  running->format = running->chat ? make_chat_format(model_->assembly, job)
                                  : make_text_format(model_->assembly, job);
  if (const auto error = submit(*running, request)) return error_reply(*error);
  if (job.common.stream) {
    HttpReply reply{.content_type = "text/event-stream"};
    reply.headers.emplace_back("X-Accel-Buffering", "no");
    reply.stream = std::make_unique<Stream>(*this, std::move(running));
    return reply;
  }
  HttpReply reply = collect(*running, peer);
  record(*running);
  return reply;
}

HttpReply Service::collect(Running& running, const Peer& peer) {
  const size_t answers = running.job.answers();
  std::vector<Progress> all(answers);
  for (size_t ended = 0; ended < answers;) {
    running.generation->wait(kTurn);
    if (peer.gone()) return error_reply({.status = 499, .message = "the client is gone"});
    for (size_t a = 0; a < answers; ++a) {
      if (all[a].outcome) continue;
      Progress more = running.generation->take(a);
      std::move(more.tokens.begin(), more.tokens.end(), std::back_inserter(all[a].tokens));
      if (!more.outcome) continue;
      if (const auto error = Stream::failure(*more.outcome)) return error_reply(*error);
      all[a].outcome = std::move(more.outcome);
      ++ended;
    }
  }
  return {.body = running.format->body(std::move(all))};
}

void Service::record(const Running& running) const {
  if (!log_.wants(LogLevel::kInfo)) return;
  const Job& job = running.job;
  int64_t read = 0;
  for (const Prompt& prompt : job.prompts) read += std::ssize(prompt.ids);
  int64_t generated = 0;
  int64_t drafted = 0;
  int64_t accepted = 0;
  for (const Outcome& outcome : running.format->outcomes()) {
    generated += outcome.stats.generated_tokens;
    drafted += outcome.stats.draft.drafted;
    accepted += outcome.stats.draft.accepted;
  }
  const bool whole = running.format->outcomes().size() == job.answers();
  std::vector<Log::Field> fields = {
      {"id", job.id},
      {"answers", static_cast<int64_t>(job.answers())},
      {"stream", job.common.stream},
      {"whole", whole},
      {"prompt_tokens", read},
      {"generated_tokens", generated},
      {"drafted", drafted},
      {"accepted", accepted},
      {"first_token_s", running.generation->first_token_s().value_or(0)},
      {"seconds", seconds_since(running.arrived)}};
  if (model_->options.log_prompts) {
    for (const Prompt& prompt : job.prompts) fields.emplace_back("prompt", prompt.text);
    for (const Outcome& outcome : running.format->outcomes())
      fields.emplace_back("text", outcome.text);
  }
  log_.write(LogLevel::kInfo, "completion", fields);
}

}  // namespace spindrift::server
