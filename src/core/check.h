#pragma once

namespace spindrift {

// Prints the failed condition and stops the program, in every build. For our own bugs, never for
// input.
[[noreturn]] void check_failed(const char* condition, const char* message, const char* file,
                               int line);

}  // namespace spindrift

#define SPINDRIFT_CHECK(cond, msg) \
  ((cond) ? void(0) : ::spindrift::check_failed(#cond, msg, __FILE__, __LINE__))
#ifdef NDEBUG
#define SPINDRIFT_DCHECK(cond, msg) ((void)0)
#else
#define SPINDRIFT_DCHECK(cond, msg) SPINDRIFT_CHECK(cond, msg)
#endif
