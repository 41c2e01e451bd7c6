#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>

#include "server/service.h"

namespace spindrift::server {

// What Service::start() makes: the engine of a model and its thread.
struct Service::Model {
  Model(const Assembly& parts, ServiceOptions given);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  RequestContext context() const;

  const ServiceOptions options;
  const Assembly& assembly;
  Engine engine;
  EngineThread thread;
  const std::string name;
  const int64_t created = std::time(nullptr);
};

// What errors call it: to clients no file of this machine is named.
inline constexpr const char* kTemplateName = "chat template";

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace spindrift::server
