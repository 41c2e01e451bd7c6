#pragma once

#include <atomic>

namespace spindrift::cli {

// The flag that Ctrl-C sets while an InterruptScope lives. A second Ctrl-C before the flag is
// cleared ends the process at once with 130.
const std::atomic<bool>& interrupted();
void clear_interrupt();

class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

}  // namespace spindrift::cli
