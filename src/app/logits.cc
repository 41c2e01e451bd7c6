#include "app/logits.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <system_error>
#include <vector>

#include "io/npy.h"

namespace spindrift {
namespace {

namespace fs = std::filesystem;

// False when `cancelled` ended it.
Result<bool> write_rows(const TargetModel& target, const Exec& ex, std::span<const TokenId> ids,
                        int64_t chunk, const std::atomic<bool>& cancelled, NpyWriter& out) {
  const std::unique_ptr<Sequence> sequence = target.open();
  Workspace workspace;
  for (size_t first = 0; first < ids.size(); first += static_cast<size_t>(chunk)) {
    if (cancelled) return false;
    const auto part = ids.subspan(first, std::min(ids.size() - first, static_cast<size_t>(chunk)));
    const SeqRows rows{.seq = sequence.get(), .tokens = part};
    const ForwardResult result = target.forward({&rows, 1}, {}, workspace, ex);
    for (int64_t r = 0; r < result.logits.rows(); ++r)
      SPINDRIFT_TRY_STATUS(out.write(result.logits.row(r)));
    std::vector<RowIndex> path(part.size());
    std::iota(path.begin(), path.end(), 0);
    sequence->commit(path);
  }
  SPINDRIFT_TRY_STATUS(out.finish());
  return true;
}

Result<bool> write_file(const TargetModel& target, const Exec& ex, std::span<const TokenId> ids,
                        int64_t chunk, const std::atomic<bool>& cancelled, const fs::path& file) {
  const auto count = static_cast<int64_t>(ids.size());
  auto out = NpyWriter::create(file, DType::kF32, {count, target.info().vocab});
  if (!out.ok()) return Error{ErrorCode::kUsage, out.error().message};
  return write_rows(target, ex, ids, chunk, cancelled, out.value());
}

}  // namespace

Result<bool> write_logits(const TargetModel& target, const Exec& ex, std::span<const TokenId> ids,
                          int64_t chunk, const fs::path& file, const std::atomic<bool>& cancelled) {
  const auto count = static_cast<int64_t>(ids.size());
  if (count > target.info().max_context)
    return Error{ErrorCode::kLimit,
                 "prompt: expected at most " + std::to_string(target.info().max_context) +
                     " tokens (the model's context), found " + std::to_string(count)};
  std::error_code failed;
  if (fs::exists(file, failed) && !fs::is_regular_file(file, failed))
    return write_file(target, ex, ids, chunk, cancelled, file);
  const fs::path whole = fs::is_symlink(file, failed) ? fs::weakly_canonical(file, failed) : file;
  fs::path part = whole;
  part += ".part";
  auto done = write_file(target, ex, ids, chunk, cancelled, part);
  if (done.ok() && done.value()) {
    fs::rename(part, whole, failed);
    if (!failed) return true;
    done = Error{ErrorCode::kIo, whole.string() + ": cannot be written: " + failed.message()};
  }
  fs::remove(part, failed);
  return done;
}

}  // namespace spindrift
