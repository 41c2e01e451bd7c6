#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace spindrift {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarn, kError, kOff };

// Events on stderr, one JSON object a line: time (UTC), level, event, then the fields in order. Any
// thread may write.
class Log {
 public:
  using Value = std::variant<std::string, std::string_view, const char*, int64_t, double, bool>;
  using Field = std::pair<std::string_view, Value>;

  explicit Log(LogLevel least);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  bool wants(LogLevel level) const { return level >= least_ && level != LogLevel::kOff; }
  void write(LogLevel level, std::string_view event, const std::vector<Field>& fields) const;

 private:
  struct Sink;
  LogLevel least_;
  std::unique_ptr<Sink> sink_;
};

}  // namespace spindrift
