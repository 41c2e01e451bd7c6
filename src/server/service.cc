#include "server/service.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cost_cache.h"
#include "app/prompt.h"
#include "core/build_info.h"
#include "server/json_text.h"
#include "server/page.h"
#include "server/service_model.h"

namespace spindrift::server {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::steady_clock;

// [TEXT of each id]
template <class Text>
std::string json_list(const std::vector<TokenId>& ids, const Text& text) {
  std::string out = "[";
  for (const TokenId id : ids) {
    if (out.size() > 1) out += ',';
    out += text(id);
  }
  return out + ']';
}

HttpReply json_reply(const Json& json) { return {.body = json_text(json)}; }

// A folder's last part, or a hub id as it is: the name tells nothing of this machine's folders.
std::string public_name(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(model, ignored)) return model;
  const std::filesystem::path path = std::filesystem::path(model).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

}  // namespace

Service::Model::Model(const Assembly& parts, ServiceOptions given)
    : options(std::move(given)),
      assembly(parts),
      engine(parts.target(), parts.drafter(), parts.exec(), options.engine),
      thread(engine, {.max_queue = options.queue}),
      name(options.served_name.empty() ? public_name(parts.model_name()) : options.served_name) {}

Service::Model::~Model() {
  thread.stop();
  CostCache(assembly).save(engine.costs());
}

RequestContext Service::Model::context() const {
  const Drafter* drafter = assembly.drafter();
  return {.defaults = assembly.defaults(),
          .vocab = assembly.target().info().vocab,
          .draft_depth = drafter == nullptr ? 0 : drafter->max_depth(),
          .served_name = options.served_name,
          .draft = options.draft,
          .max_choices =
              static_cast<int>(std::min<int64_t>(128, options.queue + options.engine.max_running))};
}

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
  constexpr int64_t kMostBytes = 4 * 1024 * 1024;
  if (const auto bytes = std::ssize(fields.text) + std::ssize(fields.messages_json);
      bytes > kMostBytes)
    return error_reply({.message = "expected a text of at most " + std::to_string(kMostBytes) +
                                   " bytes, found " + std::to_string(bytes),
                        .param = fields.messages_json.empty() ? "prompt" : "messages"});
  const Tokenizer& tokenizer = model_->assembly.tokenizer();
  std::vector<TokenId> ids;
  if (!fields.messages_json.empty()) {
    auto prompt = chat_prompt(model_->assembly, {.messages_json = fields.messages_json,
                                                 .tools_json = {},
                                                 .enable_thinking = {},
                                                 .template_name = kTemplateName});
    if (!prompt.ok()) return error_reply(api_error(prompt.error(), "messages"));
    ids = std::move(prompt).value().ids;
  } else {
    auto encoded = tokenizer.encode(fields.text, {.add_special = fields.add_special});
    if (!encoded.ok()) return error_reply(api_error(encoded.error(), "prompt"));
    ids = std::move(encoded).value();
  }
  // A list of millions is better off as text.
  const std::string list = json_list(ids, [](TokenId id) { return std::to_string(id); });
  std::string body = "{\"tokens\":" + list + ",\"ids\":" + list +
                     ",\"count\":" + std::to_string(ids.size()) +
                     ",\"max_model_len\":" + std::to_string(model_->engine.context());
  if (fields.spellings)
    body += ",\"token_strs\":" +
            json_list(ids, [&](TokenId id) { return json_text(Json(tokenizer.spelling(id))); });
  return {.body = body + '}'};
}

HttpReply Service::detokenize(const HttpRequest& request) {
  const Tokenizer& tokenizer = model_->assembly.tokenizer();
  const auto read = read_detokenize_fields(request.body, tokenizer);
  if (const auto* error = std::get_if<ApiError>(&read)) return error_reply(*error);
  const std::string text =
      tokenizer.decode(std::get<std::vector<TokenId>>(read), /*skip_special=*/false);
  return json_reply({{"prompt", text}, {"text", text}});
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
    try {
      service_.metrics_.request(path_, status_, seconds);
      service_.log_.write(LogLevel::kInfo, "request",
                          {{"method", method_},
                           {"path", path_},
                           {"status", int64_t{status_}},
                           {"seconds", seconds}});
    } catch (const std::exception&) {
      // Out of memory: a line of the log is lost.
    }
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
