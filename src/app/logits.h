#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "core/exec.h"
#include "core/result.h"
#include "core/types.h"
#include "models/target_model.h"

namespace spindrift {

// Writes the logits of every position of `ids` as a NumPy file, float32 [ids, vocab], `chunk` rows
// in one forward. ids: at least one, all in the vocabulary. kLimit when they exceed the context,
// kUsage when the file cannot be made, kIo when it cannot be written; a regular file is then
// removed.
Status write_logits(const TargetModel& target, const Exec& ex, std::span<const TokenId> ids,
                    int64_t chunk, const std::filesystem::path& file);

}  // namespace spindrift
