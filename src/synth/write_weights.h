#pragma once

#include <filesystem>

#include "core/exec.h"
#include "core/result.h"
#include "synth/checkpoint_plan.h"
#include "synth/fill.h"

namespace spindrift::synth {

// Writes a plan's tensors into `folder`, which has no weights yet. `sparse` leaves what
// always_written() does not ask for as holes.

// model.safetensors, or shards with their index. Inside a shard tensors lie as the format's own
// library puts them: wide elements first, then by name, the header padded so that every tensor is
// aligned.
Status write_safetensors(const CheckpointPlan& plan, const std::filesystem::path& folder,
                         const Filler& filler, const Exec& ex, bool sparse);

// pytorch_model.bin in the zip form, each tensor in a storage of its own; below 4 GiB.
Status write_torch_bin(const CheckpointPlan& plan, const std::filesystem::path& folder,
                       const Filler& filler, const Exec& ex, bool sparse);

}  // namespace spindrift::synth
