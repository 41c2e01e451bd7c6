#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "app/cost_cache.h"
#include "cli/checks.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/loading.h"
#include "cli/options.h"
#include "core/log.h"
#include "server/server.h"

namespace spindrift::cli {
namespace {

constexpr int kSpareConnections = 32;  // beyond those whose requests run or wait

constexpr int64_t kPrefixCache = int64_t{1} << 30;

struct Flags {
  ModelFlags model;
  MachineFlags machine;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string key, key_file, served_name;
  std::vector<std::string> cors;
  int parallel = 32;
  int64_t queue = 256;
  std::optional<int64_t> prefix_cache;
  int64_t timeout_s = 0;
  std::string log_level = "info";
  bool log_prompts = false;
};

LogLevel log_level(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warn") return LogLevel::kWarn;
  return name == "error" ? LogLevel::kError : LogLevel::kOff;
}

// A key that no header could carry would lock everybody out.
bool fits_a_header(std::string_view key) {
  constexpr size_t kMostBytes = 4096;
  return key.size() <= kMostBytes && std::none_of(key.begin(), key.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte <= ' ' || byte == 0x7F;
         });
}

// The first line of --api-key-file, or --api-key.
Result<std::string> api_key(const Flags& flags) {
  const bool in_file = !flags.key_file.empty();
  std::string key = flags.key;
  if (in_file) {
    SPINDRIFT_TRY(key, read_text(flags.key_file));
    key.erase(std::min(key.find_first_of("\r\n"), key.size()));
    if (key.empty())
      return Error{ErrorCode::kUsage, flags.key_file + ": expected a key in the first line"};
  }
  if (!fits_a_header(key))
    return Error{ErrorCode::kUsage, (in_file ? flags.key_file : std::string("--api-key")) +
                                        ": expected a key of at most 4096 bytes without spaces "
                                        "and control characters"};
  return key;
}

// The signals that end the server. Held back in every thread from here on, so that one thread can
// wait for them.
sigset_t hold_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

// Waits for one of them until `over`; 0 = it came to that first.
int wait_for_signal(const sigset_t& set, const std::atomic<bool>& over) {
  constexpr timespec kTurn = {.tv_sec = 0, .tv_nsec = 20'000'000};
  while (!over)
    if (const int number = sigtimedwait(&set, nullptr, &kTurn); number > 0) return number;
  return 0;
}

std::string url(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", v6 ? "[" : "", host, v6 ? "]" : "", port);
}

server::ServerOptions server_options(const Flags& flags, std::string key) {
  server::ServerOptions out;
  out.host = flags.host;
  out.port = flags.port;
  out.access = {.key = std::move(key), .cors = flags.cors};
  out.max_connections = flags.parallel + static_cast<int>(flags.queue) + kSpareConnections;
  return out;
}

Result<server::ServiceOptions> service_options(const Flags& flags, const Assembly& assembly) {
  server::ServiceOptions out;
  out.served_name = flags.served_name;
  SPINDRIFT_TRY(out.draft, draft_width(flags.model, assembly.drafter(), false));
  out.engine = engine_options(flags.machine);
  out.engine.max_running = flags.parallel;
  const int64_t limit = flags.machine.memory_limit;
  out.engine.prefix_cache =
      flags.prefix_cache.value_or(limit == 0 ? kPrefixCache : std::min(kPrefixCache, limit / 2));
  out.engine.costs = CostCache(assembly).load();
  out.queue = flags.queue;
  out.request_timeout = std::chrono::seconds(flags.timeout_s);
  out.log_prompts = flags.log_prompts;
  return out;
}

int serve(const Flags& flags, std::string key) {
  const sigset_t signals = hold_signals();
  const Log log(log_level(flags.log_level));
  std::unique_ptr<Assembly> assembly;  // outlives the server
  server::Server server(server_options(flags, std::move(key)), log);
  const auto port = server.listen();
  if (!port.ok()) {
    fail(port.error());
    return kOther;
  }
  std::atomic<bool> loaded = false;
  Status status = ok_status();
  std::thread loader([&] {
    status = [&]() -> Status {
      SPINDRIFT_TRY(assembly, load(assemble_options(flags.model, flags.machine), false));
      SPINDRIFT_TRY(auto options, service_options(flags, *assembly));
      server.start(*assembly, std::move(options));
      return ok_status();
    }();
    loaded = true;
  });
  // While the model is being loaded nothing can be lost.
  if (const int number = wait_for_signal(signals, loaded); number != 0)
    _exit(number == SIGINT ? kInterrupted : kOk);
  loader.join();
  if (!status.ok()) return fail(status.error());
  std::fprintf(stderr, "listening on %s\n", url(flags.host, port.value()).c_str());

  const std::atomic<bool> never = false;
  const int first = wait_for_signal(signals, never);
  log.write(LogLevel::kInfo, "draining", {});
  std::atomic<bool> drained = false;
  std::thread drain([&] {
    server.drain();
    drained = true;
  });
  const int second = wait_for_signal(signals, drained);
  if (second != 0) server.stop();
  drain.join();
  return second != 0 || first == SIGINT ? kInterrupted : kOk;
}

int run(const Flags& flags) {
  auto key = api_key(flags);
  if (!key.ok()) return fail(key.error());
  return serve(flags, std::move(key).value());
}

}  // namespace

Run add_serve(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  add_model_flag(app, flags->model);
  add_draft_flags(app, flags->model);
  const auto add = [&app](const char* name, auto& target, const char* help) {
    return app.add_option(name, target, help)->group("Server");
  };
  add("--host", flags->host, "Address to listen on")->capture_default_str();
  add("--port", flags->port, "Port; 0 = any free one")
      ->check(whole_number(0, 65535))
      ->capture_default_str();
  auto* key = add("--api-key", flags->key, "Key that every request but /health must carry");
  add("--api-key-file", flags->key_file, "File with the key in its first line")
      ->type_name("FILE")
      ->excludes(key);
  add("--served-name", flags->served_name, "The model's name; requests for another are refused");
  add("--parallel", flags->parallel, "Requests in one batch")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  add("--queue", flags->queue, "Requests that wait beyond those; further ones get 429")
      ->check(whole_number(0, 1 << 16))
      ->capture_default_str();
  add("--prefix-cache", flags->prefix_cache,
      "Of the memory limit, bytes kept for requests that begin as earlier ones; 0 = none (default: "
      "1G, at most half of the limit)")
      ->transform(byte_count());
  add("--request-timeout", flags->timeout_s,
      "Seconds a request may take, waiting included; 0 = any")
      ->check(whole_number(0, 1 << 30))
      ->capture_default_str();
  add("--cors", flags->cors,
      "Origin whose pages may use the server, or *; may be given several times")
      ->allow_extra_args(false)
      ->type_name("ORIGIN");
  add("--log-level", flags->log_level, "Least level that is logged")
      ->check(one_of({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_flag("--log-prompts", flags->log_prompts, "Prompts and answers in the log, too")
      ->group("Server");
  add_machine_flags(app, flags->machine);
  app.footer(
      "Examples:\n"
      "  spindrift serve -m MODEL --draft-model DRAFTER\n"
      "  spindrift serve -m MODEL --host 0.0.0.0 --api-key-file key.txt --memory-limit 8G\n"
      "  curl localhost:8080/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", "
      "\"content\": \"Hello\"}]}'\n"
      "SIGTERM answers what was accepted and exits. TLS is left to a proxy in front.");
  return [flags] { return run(*flags); };
}

}  // namespace spindrift::cli
