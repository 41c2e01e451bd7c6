#include "cli/output_files.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace spindrift::cli {
namespace {

// Whether writing to one would overwrite the other; a device or a pipe takes both.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::exists(a, ignored))
    return fs::is_regular_file(a, ignored) && fs::equivalent(a, b, ignored);
  return fs::weakly_canonical(a, ignored) == fs::weakly_canonical(b, ignored);
}

}  // namespace

Result<OutputFile> OutputFile::open(const std::string& path) {
  OutputFile out;
  if (path.empty()) return out;
  out.path_ = path;
  out.file_.reset(std::fopen(path.c_str(), "wb"));
  if (out.file_ == nullptr)
    return Error{ErrorCode::kUsage, path + ": expected a file that can be written"};
  return out;
}

ExitCode OutputFile::finish() {
  if (file_ == nullptr) return kOk;
  errno = 0;
  const bool failed_before = std::ferror(file_.get()) != 0;
  if (std::fclose(file_.release()) == 0 && !failed_before) return kOk;
  fail({ErrorCode::kIo, path_ + ": expected to be written, found: " +
                            (errno == 0 ? "an error while writing" : std::strerror(errno))});
  return kOther;
}

void add_record_flags(CLI::App& app, RecordFlags& flags) {
  const auto add = [&app](const char* name, std::string& path, const char* help) {
    app.add_option(name, path, help)->type_name("FILE")->group("Output");
  };
  add("--ledger", flags.ledger, "Write a line per token: index, id, hash of its logits");
  add("--trace", flags.trace, "Write a JSON line per round");
}

Result<Records> open_records(const RecordFlags& flags) {
  if (!flags.ledger.empty() && !flags.trace.empty() && same_file(flags.ledger, flags.trace))
    return Error{ErrorCode::kUsage,
                 "--ledger and --trace: expected two files, found " + flags.ledger + " for both"};
  Records out;
  SPINDRIFT_TRY(out.ledger, OutputFile::open(flags.ledger));
  SPINDRIFT_TRY(out.trace, OutputFile::open(flags.trace));
  return out;
}

ExitCode finish(Records& records) {
  const ExitCode ledger = records.ledger.finish(), trace = records.trace.finish();
  return ledger != kOk ? ledger : trace;
}

}  // namespace spindrift::cli
