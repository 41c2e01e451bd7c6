#include "cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include "cli/exit_code.h"

namespace spindrift::cli {
namespace {

// A signal handler can reach nothing but a lock-free global.
std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int) {
  if (flag.exchange(true)) _exit(kInterrupted);
}

void install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& interrupted() { return flag; }
void clear_interrupt() { flag.store(false); }
void request_stop() { flag.store(true); }

InterruptScope::InterruptScope() {
  clear_interrupt();
  install(on_signal);
}
InterruptScope::~InterruptScope() { exit_on_interrupt(); }

void exit_on_interrupt() {
  install([](int) { _exit(kInterrupted); });
}

}  // namespace spindrift::cli
