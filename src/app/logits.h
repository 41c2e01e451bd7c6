#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>

#include "core/exec.h"
#include "core/result.h"
#include "core/types.h"
#include "models/target_model.h"

namespace spindrift {

// Writes the logits of every position of `ids` as a NumPy file, float32 [ids, vocab], `chunk` rows
// in one forward. The file gets its name when it is whole: until then it is FILE.part (a device or
// a pipe is written as it is). ids: at least one, all in the vocabulary. False when `cancelled`
// ended it. kLimit when the ids exceed the context, kUsage when the file cannot be made, kIo when
// it cannot be written. Nothing is left of a file that does not become whole.
Result<bool> write_logits(const TargetModel& target, const Exec& ex, std::span<const TokenId> ids,
                          int64_t chunk, const std::filesystem::path& file,
                          const std::atomic<bool>& cancelled);

}  // namespace spindrift
