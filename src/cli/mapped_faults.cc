#include "cli/mapped_faults.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "cli/exit_code.h"

namespace spindrift::cli {
namespace {

// Everything below runs in a signal handler: no allocation, no stdio.

// Reads a file character by character.
class Characters {
 public:
  explicit Characters(const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)) {}
  ~Characters() {
    if (fd_ >= 0) close(fd_);
  }
  Characters(const Characters&) = delete;
  Characters& operator=(const Characters&) = delete;

  // -1 at the end.
  int next() {
    if (at_ == size_) {
      const ssize_t got = fd_ < 0 ? -1 : read(fd_, block_.data(), block_.size());
      if (got <= 0) return -1;
      at_ = 0;
      size_ = static_cast<size_t>(got);
    }
    return static_cast<unsigned char>(block_[at_++]);
  }
  // A hexadecimal number and the character behind it.
  uint64_t hexadecimal() {
    uint64_t value = 0;
    for (int c = next();; c = next()) {
      if (c >= '0' && c <= '9')
        value = value << 4 | static_cast<uint64_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        value = value << 4 | static_cast<uint64_t>(c - 'a' + 10);
      else
        return value;
    }
  }

 private:
  int fd_;
  std::array<char, 4096> block_;
  size_t at_ = 0, size_ = 0;
};

// The file mapped at `address`, from lines "first-last flags offset device inode   path"; empty
// when it is not a file.
std::string_view file_at(uint64_t address, std::array<char, 4096>& path) {
  Characters maps("/proc/self/maps");
  for (int c = 0; c >= 0;) {
    const uint64_t first = maps.hexadecimal();
    const uint64_t last = maps.hexadecimal();
    size_t size = 0;
    for (c = maps.next(); c >= 0 && c != '\n'; c = maps.next())
      if ((c == '/' || size > 0) && size < path.size())
        path[size++] = static_cast<char>(c < 0x20 || c == 0x7F ? '?' : c);
    if (first <= address && address < last) return {path.data(), size};
  }
  return {};
}

void put(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

void on_bus_error(int, siginfo_t* info, void*) {
  std::array<char, 4096> path;
  const std::string_view file = file_at(reinterpret_cast<uintptr_t>(info->si_addr), path);
  if (file.empty()) {  // no file's fault
    signal(SIGBUS, SIG_DFL);
    return;
  }
  put("spindrift: error: ");
  put(file);
  put(": expected to stay as it was when it was opened, found bytes that cannot be read any more "
      "(was it shortened?)\n");
  _exit(kModel);
}

}  // namespace

void explain_mapped_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace spindrift::cli
