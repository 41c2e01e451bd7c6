#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>

#include "cli/units.h"

namespace spindrift::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick(500);
constexpr const char* kEraseLine = "\r\x1b[K";

void paint(std::string_view text) {
  std::fprintf(stderr, "%s%.*s", kEraseLine, static_cast<int>(text.size()), text.data());
  std::fflush(stderr);
}

// Bytes of mapped files that are in memory; 0 when that cannot be told.
int64_t mapped_in_memory() {
  std::ifstream in("/proc/self/statm");
  int64_t size = 0, resident = 0, shared = 0;
  in >> size >> resident >> shared;
  return in ? shared * int64_t{sysconf(_SC_PAGE_SIZE)} : 0;
}

}  // namespace

Progress::Progress(bool quiet) : active_(!quiet && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  clear();
  if (!painter_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  painter_.join();
}

void Progress::show(std::string_view text) {
  if (!active_) return;
  const std::lock_guard lock(mutex_);
  text_ = text;
  paint(text_);
  if (!painter_.joinable()) painter_ = std::thread([this] { keep_painting(); });
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  if (!text_.empty()) paint("");
  text_.clear();
}

void Progress::keep_painting() {
  std::string last;
  Clock::time_point since;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kTick, [this] { return over_; })) {
    if (text_ != last) {
      last = text_;
      since = Clock::now();
    } else if (!text_.empty()) {
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since);
      paint(fmt::format("{} ({} s, {} of files in memory)", text_, seconds.count() + 1,
                        bytes_text(mapped_in_memory())));
    }
  }
}

}  // namespace spindrift::cli
