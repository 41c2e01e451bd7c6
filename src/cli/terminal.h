#pragma once

#include <cstdint>
#include <string_view>

#include "cli/exit_code.h"

namespace spindrift::cli {

enum class ColorMode : uint8_t { kAuto, kAlways, kNever };

// How a piece of streamed text is shown when colour is on.
enum class Shade : uint8_t { kPlain, kDrafted, kDim };

// stdout for answers. Escape codes only when colour is on (auto: a terminal, NO_COLOR unset, TERM
// not dumb). Output is flushed piece by piece, so that text streams.
class Terminal {
 public:
  explicit Terminal(ColorMode mode);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool color() const { return color_; }
  bool interactive() const { return interactive_; }  // stdout is a terminal
  void write(std::string_view text, Shade shade = Shade::kPlain);
  // Passes on what others have put into stdout.
  void flush();
  // Ends a line that was begun, if any.
  void end_line();
  // False once stdout cannot be written to.
  bool ok() const { return error_ == 0; }
  int error() const { return error_; }  // errno of the write that failed; EPIPE: the reader left

 private:
  void put(std::string_view text);
  void set(Shade shade);

  bool color_;
  bool interactive_;
  int error_ = 0;
  bool at_line_start_ = true;
  Shade shade_ = Shade::kPlain;
};

// How a command ends that wrote its answer to `out`: kOk also when the reader of a pipe went away,
// which is its right; kOther with a message when writing failed otherwise.
ExitCode written(const Terminal& out);

}  // namespace spindrift::cli
