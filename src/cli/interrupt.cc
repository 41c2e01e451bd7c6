#include "cli/interrupt.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "cli/exit_code.h"

namespace spindrift::cli {
namespace {

// A signal handler can reach nothing but a lock-free global.
std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

int event = -1;

void signal_event() {
  const int kept = errno;
  const uint64_t one = 1;
  // It can fail only when the counter is full, and then the descriptor is readable already.
  if (event >= 0) [[maybe_unused]]
    const ssize_t written = write(event, &one, sizeof one);
  errno = kept;
}

void on_signal(int) {
  if (flag.exchange(true)) _exit(kInterrupted);
  signal_event();
}

void install(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

const std::atomic<bool>& interrupted() { return flag; }
int interrupt_event() { return event; }
void clear_interrupt() {
  flag.store(false);
  uint64_t count = 0;
  if (event >= 0) [[maybe_unused]]
    const ssize_t taken = read(event, &count, sizeof count);
}
void request_stop() { flag.store(true); }

InterruptScope::InterruptScope() {
  if (event < 0) event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  clear_interrupt();
  install(on_signal);
}
InterruptScope::~InterruptScope() { exit_on_interrupt(); }

void exit_on_interrupt() {
  install([](int) { _exit(kInterrupted); });
}

}  // namespace spindrift::cli
