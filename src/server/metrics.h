#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/request.h"
#include "engine/snapshot.h"

namespace spindrift::server {

// What the server counts, for Prometheus; docs/serving.md lists the names. All methods from any
// thread, but round(), which is the engine's alone.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void request(std::string_view path, int status, double seconds);
  void first_token(double seconds);  // since the request arrived
  void next_token(double seconds);   // since the one before
  void round(const RoundRecord& round);
  void finished(const Outcome& outcome);

  // The text exposition format, with the engine's own figures as of `snapshot` (null: not running).
  std::string text(const EngineSnapshot* snapshot) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace spindrift::server
