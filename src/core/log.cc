#include "core/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "core/json_string.h"

namespace spindrift {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string quoted(std::string_view text) {
  std::string out;
  append_json_string(text, out);
  return out;
}

struct Spelling {
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(std::string_view text) const { return quoted(text); }
  std::string operator()(const char* text) const { return quoted(text); }
  std::string operator()(int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return fmt::format("{:.6g}", number); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
};

}  // namespace

struct Log::Sink {
  spdlog::logger logger{"spindrift", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
};

Log::Log(LogLevel least) : least_(least), sink_(std::make_unique<Sink>()) {
  sink_->logger.set_level(spdlog_level(least));
  sink_->logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(
      R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})", spdlog::pattern_time_type::utc));
  sink_->logger.flush_on(spdlog::level::debug);
}
Log::~Log() = default;

void Log::write(LogLevel level, std::string_view event, const std::vector<Field>& fields) const {
  if (!wants(level)) return;
  std::string line = fmt::format(R"("event":{})", quoted(event));
  for (const auto& [key, value] : fields)
    line += fmt::format(",{}:{}", quoted(key), std::visit(Spelling{}, value));
  sink_->logger.log(spdlog_level(level), line);
}

}  // namespace spindrift
