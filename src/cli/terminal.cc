#include "cli/terminal.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace spindrift::cli {
namespace {

bool wants_color(ColorMode mode, bool interactive) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return interactive && (no_color == nullptr || *no_color == '\0') &&
         (term == nullptr || std::string_view(term) != "dumb");
}

std::string_view code(Shade shade) {
  switch (shade) {
    case Shade::kPlain:
      return "\x1b[0m";
    case Shade::kDrafted:
      return "\x1b[36m";
    case Shade::kDim:
      return "\x1b[2m";
  }
  return "";
}

}  // namespace

Terminal::Terminal(ColorMode mode)
    : color_(wants_color(mode, isatty(STDOUT_FILENO) == 1)),
      interactive_(isatty(STDOUT_FILENO) == 1) {}

Terminal::~Terminal() { set(Shade::kPlain); }

void Terminal::put(std::string_view text) {
  if (!ok() || text.empty()) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return;
  error_ = errno == 0 ? EIO : errno;
}

void Terminal::flush() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) error_ = errno == 0 ? EIO : errno;
}

void Terminal::set(Shade shade) {
  if (!color_ || shade == shade_) return;
  if (shade_ != Shade::kPlain) put(code(Shade::kPlain));
  if (shade != Shade::kPlain) put(code(shade));
  shade_ = shade;
}

void Terminal::write(std::string_view text, Shade shade) {
  if (text.empty()) return;
  set(shade);
  put(text);
  at_line_start_ = text.back() == '\n';
}

void Terminal::end_line() {
  set(Shade::kPlain);
  if (!at_line_start_) put("\n");
  at_line_start_ = true;
}

ExitCode written(const Terminal& out) {
  if (out.ok() || out.error() == EPIPE) return kOk;
  fail({ErrorCode::kIo, std::string("standard output: expected to be written, found: ") +
                            std::strerror(out.error())});
  return kOther;
}

}  // namespace spindrift::cli
