#pragma once

#include <atomic>

namespace spindrift::cli {

// The flag that Ctrl-C sets while an InterruptScope lives. A second Ctrl-C before the flag is
// cleared ends the process at once with 130.
const std::atomic<bool>& interrupted();
// A descriptor that is readable from a Ctrl-C until clear_interrupt(), for poll(): a signal that
// comes just before a blocking read would not end it. -1 before the first InterruptScope.
int interrupt_event();
void clear_interrupt();
// Sets the flag, as Ctrl-C does: for a run whose answer has no reader any more.
void request_stop();

// From here on Ctrl-C ends the process with 130, where no scope handles it.
void exit_on_interrupt();

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

}  // namespace spindrift::cli
