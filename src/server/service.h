#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/assemble.h"
#include "core/log.h"
#include "engine/engine.h"
#include "engine/engine_thread.h"
#include "server/completion_request.h"
#include "server/http.h"
#include "server/metrics.h"
#include "server/reply_format.h"

namespace spindrift::server {

struct ServiceOptions {
  std::string served_name;  // empty = any name is accepted
  DraftWidth draft;
  EngineOptions engine;
  int64_t queue = 256;
  std::chrono::seconds request_timeout{0};  // 0 = none
  bool log_prompts = false;
};

// What the endpoints do, apart from HTTP itself. Starting until start(), then ready, draining from
// drain() on.
class Service {
 public:
  explicit Service(const Log& log);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  std::vector<Route> routes();
  // Counts and logs a reply when it has been sent.
  void watch(const HttpRequest& request, HttpReply& reply);
  // Gets the model; the assembly must outlive this.
  void start(const Assembly& assembly, ServiceOptions options);
  // Refuses new work, and returns when every request that was let in has been answered to its last
  // byte, or stop() was called.
  void drain();
  // Ends everything that runs.
  void stop();

 private:
  enum class State : uint8_t { kStarting, kReady, kDraining };
  struct Model;  // what start() makes
  class Visit;   // one request that was let in: drain() waits for it
  struct Running;
  class Stream;
  class Record;

  std::shared_ptr<Visit> enter();
  HttpReply closed() const;

  HttpReply health() const;
  HttpReply models(const HttpRequest& request) const;
  HttpReply metrics() const;
  HttpReply chat(const HttpRequest& request, const Peer& peer);
  HttpReply text(const HttpRequest& request, const Peer& peer);
  HttpReply tokenize(const HttpRequest& request);
  HttpReply detokenize(const HttpRequest& request);

  // Submits all answers of a job, and streams or waits as it asks.
  HttpReply run(std::unique_ptr<Running> running, const HttpRequest& request, const Peer& peer);
  HttpReply collect(Running& running, const Peer& peer);
  std::optional<ApiError> submit(Running& running, const HttpRequest& request);
  void record(const Running& running) const;

  const Log& log_;
  Metrics metrics_;
  std::unique_ptr<Model> model_;  // set once, before the state becomes ready
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kStarting;
  int64_t inside_ = 0;
  bool stopped_ = false;
};

}  // namespace spindrift::server
