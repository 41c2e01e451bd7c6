#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace spindrift::cli {

// A line on stderr that overwrites itself while work goes on. Work that takes more than a second
// has the seconds and the bytes of files in memory added to its line, twice a second: a model read
// from a disk for the first time shows how far it is. Silent when stderr is no terminal.
class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view text);
  void clear();

 private:
  void keep_painting();

  const bool active_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;  // empty = nothing is shown
  bool over_ = false;
  std::thread painter_;  // started by the first show()
};

}  // namespace spindrift::cli
