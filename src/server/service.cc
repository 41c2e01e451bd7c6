#include "server/service.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "app/answer.h"
#include "app/cost_cache.h"
#include "app/prompt.h"
#include "core/build_info.h"
#include "server/generation.h"
#include "server/page.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kTurn{50};  // how often a waiting thread looks for its client

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
HttpReply json_reply(const Json& json) { return {.body = dump(json)}; }

// A folder's last part, or a hub id as it is: the name tells nothing of this machine's folders.
std::string public_name(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(model, ignored)) return model;
  const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

// 24 hex digits, not to be guessed from earlier ones.
std::string fresh_id() {
  std::random_device random;
  std::array<char, 25> text{};
  std::snprintf(text.data(), text.size(), "%08x%08x%08x", random(), random(), random());
  return text.data();
}

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::string error_event(const ApiError& error) {
  return "data: " + error_json(error) + "\n\ndata: [DONE]\n\n";
}

}  // namespace

struct Service::Model {
  Model(const Assembly& parts, ServiceOptions given)
      : options(std::move(given)),
        assembly(parts),
        engine(parts.target(), parts.drafter(), parts.exec(), options.engine),
        thread(engine, {.max_queue = options.queue}),
        name(options.served_name.empty() ? public_name(parts.model_name()) : options.served_name) {}

  ~Model() {
    thread.stop();
    CostCache(assembly).save(engine.costs());
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  RequestContext context() const {
    const Drafter* drafter = assembly.drafter();
    return {.defaults = assembly.defaults(),
            .vocab = assembly.target().info().vocab,
            .draft_depth = drafter == nullptr ? 0 : drafter->max_depth(),
            .served_name = options.served_name,
            .draft = options.draft,
            .max_choices = static_cast<int>(
                std::min<int64_t>(128, options.queue + options.engine.max_running))};
  }

  const ServiceOptions options;
  const Assembly& assembly;
  Engine engine;
  EngineThread thread;
  const std::string name;
  const int64_t created = std::time(nullptr);
};

class Service::Visit {
 public:
  explicit Visit(Service& service) : service_(service) {}
  ~Visit() {
    const std::lock_guard lock(service_.mutex_);
    --service_.inside_;
    service_.changed_.notify_all();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  Service& service_;
};

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
  ~Stream() override { service_.record(*running_); }

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

Service::Service(const Log& log) : log_(log) {}
Service::~Service() = default;

void Service::start(const Assembly& assembly, ServiceOptions options) {
  model_ = std::make_unique<Model>(assembly, std::move(options));
  const std::lock_guard lock(mutex_);
  if (state_ == State::kStarting) state_ = State::kReady;
}

std::shared_ptr<Service::Visit> Service::enter() {
  const std::lock_guard lock(mutex_);
  if (state_ != State::kReady) return nullptr;
  ++inside_;
  return std::make_shared<Visit>(*this);
}

void Service::drain() {
  std::unique_lock lock(mutex_);
  state_ = State::kDraining;
  changed_.wait(lock, [this] { return inside_ == 0 || stopped_; });
}

void Service::stop() {
  {
    const std::lock_guard lock(mutex_);
    state_ = State::kDraining;
    stopped_ = true;
    changed_.notify_all();
  }
  if (model_) model_->thread.stop();
}

HttpReply Service::closed() const {
  const std::lock_guard lock(mutex_);
  const bool starting = state_ == State::kStarting;
  return error_reply({.status = 503,
                      .message = starting ? "the model is being loaded" : "the server is draining",
                      .code = starting ? "starting" : "draining"});
}

HttpReply Service::health() const {
  const std::lock_guard lock(mutex_);
  const char* names[] = {"starting", "ready", "draining"};
  HttpReply reply = json_reply({{"status", names[static_cast<size_t>(state_)]}});
  if (state_ != State::kReady) reply.status = 503;
  return reply;
}

HttpReply Service::models(const HttpRequest& request) const {
  constexpr std::string_view kPath = "/v1/models";
  const Json model = {{"id", model_->name},
                      {"object", "model"},
                      {"created", model_->created},
                      {"owned_by", "spindrift"},
                      {"max_model_len", model_->engine.context()}};
  if (request.path == kPath)
    return json_reply({{"object", "list"}, {"data", Json::array({model})}});
  const std::string wanted = request.path.substr(kPath.size() + 1);
  if (wanted == model_->name || model_->options.served_name.empty()) return json_reply(model);
  return error_reply({.status = 404,
                      .message = "there is no such model",
                      .param = "model",
                      .code = "model_not_found"});
}

HttpReply Service::metrics() const {
  bool ready = false;
  {
    const std::lock_guard lock(mutex_);
    ready = state_ != State::kStarting;
  }
  HttpReply reply{.content_type = "text/plain; version=0.0.4; charset=utf-8"};
  if (ready && model_) {
    const EngineSnapshot snapshot = model_->thread.snapshot();
    reply.body = metrics_.text(&snapshot);
  } else {
    reply.body = metrics_.text(nullptr);
  }
  return reply;
}

HttpReply Service::tokenize(const HttpRequest& request) {
  const auto read = read_tokenize_fields(request.body);
  if (const auto* error = std::get_if<ApiError>(&read)) return error_reply(*error);
  const auto& fields = std::get<TokenizeFields>(read);
  const Tokenizer& tokenizer = model_->assembly.tokenizer();
  std::vector<TokenId> ids;
  if (!fields.messages_json.empty()) {
    auto prompt = chat_prompt(
        model_->assembly,
        {.messages_json = fields.messages_json, .tools_json = {}, .enable_thinking = {}});
    if (!prompt.ok()) return error_reply(api_error(prompt.error(), "messages"));
    ids = std::move(prompt).value().ids;
  } else {
    auto encoded = tokenizer.encode(fields.text, {.add_special = fields.add_special});
    if (!encoded.ok()) return error_reply(api_error(encoded.error(), "prompt"));
    ids = std::move(encoded).value();
  }
  Json reply = {{"tokens", ids},
                {"ids", ids},
                {"count", ids.size()},
                {"max_model_len", model_->engine.context()}};
  if (fields.spellings)
    for (const TokenId id : ids) reply["token_strs"].push_back(tokenizer.spelling(id));
  return json_reply(reply);
}

HttpReply Service::detokenize(const HttpRequest& request) {
  const Tokenizer& tokenizer = model_->assembly.tokenizer();
  const auto read = read_detokenize_fields(request.body, tokenizer);
  if (const auto* error = std::get_if<ApiError>(&read)) return error_reply(*error);
  const std::string text =
      tokenizer.decode(std::get<std::vector<TokenId>>(read), /*skip_special=*/false);
  return json_reply({{"prompt", text}, {"text", text}});
}

HttpReply Service::chat(const HttpRequest& request, const Peer& peer) {
  auto read = read_chat_fields(request.body, model_->context());
  if (const auto* error = std::get_if<ApiError>(&read)) return error_reply(*error);
  auto& fields = std::get<ChatFields>(read);
  auto prompt = chat_prompt(model_->assembly, {.messages_json = fields.messages_json,
                                               .tools_json = fields.tools_json,
                                               .enable_thinking = fields.enable_thinking,
                                               .variables = fields.template_variables});
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
    auto prompt = raw_prompt(model_->assembly.tokenizer(), std::get<std::string>(given));
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

// Counts a reply when the last holder lets go: after the last byte.
class Service::Record {
 public:
  Record(Service& service, const HttpRequest& request, int status, std::shared_ptr<void> inner)
      : service_(service),
        method_(request.method),
        status_(status),
        arrived_(request.arrived),
        inner_(std::move(inner)) {
    constexpr std::string_view kPaths[] = {"/v1/chat/completions",
                                           "/v1/completions",
                                           "/v1/models",
                                           "/tokenize",
                                           "/detokenize",
                                           "/health",
                                           "/metrics",
                                           "/version",
                                           "/"};
    const auto known = std::find(std::begin(kPaths), std::end(kPaths), request.path);
    path_ = known == std::end(kPaths) ? "other" : *known;
  }
  ~Record() {
    const double seconds = seconds_since(arrived_);
    service_.metrics_.request(path_, status_, seconds);
    service_.log_.write(
        LogLevel::kInfo, "request",
        {{"method", method_}, {"path", path_}, {"status", int64_t{status_}}, {"seconds", seconds}});
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

 private:
  Service& service_;
  const std::string method_;
  std::string_view path_;
  const int status_;
  const steady_clock::time_point arrived_;
  const std::shared_ptr<void> inner_;
};

void Service::watch(const HttpRequest& request, HttpReply& reply) {
  reply.hold = std::make_shared<Record>(*this, request, reply.status, std::move(reply.hold));
}

std::vector<Route> Service::routes() {
  // What needs the model is let in, and counts as inside until its reply has been sent.
  const auto ready = [this](auto handle) {
    return [this, handle](const HttpRequest& request, const Peer& peer) {
      auto visit = enter();
      if (!visit) return closed();
      HttpReply reply = handle(request, peer);
      reply.hold = std::move(visit);
      return reply;
    };
  };
  const auto file = [](std::string_view content, const char* type) {
    return [content, type](const HttpRequest&, const Peer&) {
      HttpReply reply{.content_type = type, .body = std::string(content)};
      reply.headers = page_headers();
      return reply;
    };
  };
  std::vector<Route> out;
  out.push_back(
      {"POST", "/v1/chat/completions", false,
       ready([this](const auto& request, const auto& peer) { return chat(request, peer); })});
  out.push_back(
      {"POST", "/v1/completions", false,
       ready([this](const auto& request, const auto& peer) { return text(request, peer); })});
  out.push_back({"GET", "/v1/models", true,
                 ready([this](const auto& request, const auto&) { return models(request); })});
  out.push_back({"POST", "/tokenize", false,
                 ready([this](const auto& request, const auto&) { return tokenize(request); })});
  out.push_back({"POST", "/detokenize", false,
                 ready([this](const auto& request, const auto&) { return detokenize(request); })});
  out.push_back({"GET", "/health", false, [this](const auto&, const auto&) { return health(); }});
  out.push_back({"GET", "/metrics", false, [this](const auto&, const auto&) { return metrics(); }});
  out.push_back({"GET", "/version", false, [](const auto&, const auto&) {
                   const BuildInfo build = build_info();
                   return json_reply({{"version", build.version}, {"commit", build.commit}});
                 }});
  out.push_back({"GET", "/", false, file(page_html(), "text/html; charset=utf-8")});
  out.push_back({"GET", "/page.css", false, file(page_css(), "text/css; charset=utf-8")});
  out.push_back({"GET", "/page.js", false, file(page_js(), "text/javascript; charset=utf-8")});
  return out;
}

}  // namespace spindrift::server
