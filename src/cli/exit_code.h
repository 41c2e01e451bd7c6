#pragma once

#include <string_view>

#include "core/result.h"

namespace spindrift::cli {

// What the process ends with; scripts rely on these numbers.
enum ExitCode : int {
  kOk = 0,
  kOther = 1,
  kUsage = 2,         // wrong usage, a token id outside the vocabulary included
  kModel = 3,         // a model folder, a file in it or a pairing is invalid or unsupported
  kCheckFailed = 4,   // `verify` found a difference
  kLimit = 5,         // the request cannot be met: context, memory budget
  kInterrupted = 130  // Ctrl-C; partial output kept
};

ExitCode exit_code(ErrorCode code);

// Prints "spindrift: error: MESSAGE" and, where there is one, "spindrift: hint: ..." to stderr;
// returns the code to exit with.
ExitCode fail(const Error& error);
void warn(std::string_view message);

}  // namespace spindrift::cli
