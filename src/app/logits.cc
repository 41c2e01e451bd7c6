#include "app/logits.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "io/npy.h"

namespace spindrift {
namespace {

Status write_rows(const TargetModel& target, const Exec& ex, std::span<const TokenId> ids,
                  int64_t chunk, NpyWriter& out) {
  const std::unique_ptr<Sequence> sequence = target.open();
  Workspace workspace;
  for (size_t first = 0; first < ids.size(); first += static_cast<size_t>(chunk)) {
    const auto part = ids.subspan(first, std::min(ids.size() - first, static_cast<size_t>(chunk)));
    const SeqRows rows{.seq = sequence.get(), .tokens = part};
    const ForwardResult result = target.forward({&rows, 1}, {}, workspace, ex);
    for (int64_t r = 0; r < result.logits.rows(); ++r)
      SPINDRIFT_TRY_STATUS(out.write(result.logits.row(r)));
    std::vector<RowIndex> path(part.size());
    std::iota(path.begin(), path.end(), 0);
    sequence->commit(path);
  }
  return out.finish();
}

}  // namespace

Status write_logits(const TargetModel& target, const Exec& ex, std::span<const TokenId> ids,
                    int64_t chunk, const std::filesystem::path& file) {
  const auto count = static_cast<int64_t>(ids.size());
  if (count > target.info().max_context)
    return Error{ErrorCode::kLimit,
                 "prompt: expected at most " + std::to_string(target.info().max_context) +
                     " tokens (the model's context), found " + std::to_string(count)};
  auto out = NpyWriter::create(file, DType::kF32, {count, target.info().vocab});
  if (!out.ok()) return Error{ErrorCode::kUsage, out.error().message};
  const Status done = write_rows(target, ex, ids, chunk, out.value());
  std::error_code ignored;
  // A device that refused the rows stays where it is.
  if (!done.ok() && std::filesystem::is_regular_file(file, ignored))
    std::filesystem::remove(file, ignored);
  return done;
}

}  // namespace spindrift
