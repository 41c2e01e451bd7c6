#include "cli/exit_code.h"

#include <cstdio>
#include <string>

namespace spindrift::cli {
namespace {

// Messages quote file contents; a line stays one line and no escape code reaches the terminal.
std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      out += '?';
    else
      out += c;
  }
  return out;
}

void line(std::string_view kind, std::string_view text) {
  const std::string safe = one_line(text);
  std::fprintf(stderr, "spindrift: %.*s: %s\n", static_cast<int>(kind.size()), kind.data(),
               safe.c_str());
}

}  // namespace

ExitCode exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
    case ErrorCode::kUnsupported:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      return kModel;
    case ErrorCode::kLimit:
      return kLimit;
    case ErrorCode::kUsage:
      return kUsage;
    case ErrorCode::kBusy:
    case ErrorCode::kStopping:
    case ErrorCode::kTimeout:
      return kOther;
  }
  return kOther;
}

ExitCode fail(const Error& error) {
  line("error", error.message);
  if (!error.hint.empty()) line("hint", error.hint);
  return exit_code(error.code);
}

void warn(std::string_view message) { line("warning", message); }

}  // namespace spindrift::cli
