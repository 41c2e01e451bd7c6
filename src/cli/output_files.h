#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "cli/exit_code.h"
#include "core/result.h"

namespace CLI {
class App;
}

namespace spindrift::cli {

// A file that a flag names, to be written while a command runs.
class OutputFile {
 public:
  // Nothing is written for an empty path; kUsage when the file cannot be opened.
  static Result<OutputFile> open(const std::string& path);

  std::FILE* get() const { return file_.get(); }  // null = none
  // Closes it: kOther, with a message, when not all of it could be written.
  ExitCode finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

// What a run leaves about itself: a line a token, a JSON line a round.
struct RecordFlags {
  std::string ledger, trace;
};
void add_record_flags(CLI::App& app, RecordFlags& flags);

struct Records {
  OutputFile ledger, trace;
};
// kUsage also when both flags name one regular file.
Result<Records> open_records(const RecordFlags& flags);
ExitCode finish(Records& records);

}  // namespace spindrift::cli
