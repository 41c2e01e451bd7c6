#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/exec.h"
#include "core/result.h"

namespace spindrift::synth {

struct SynthOptions {
  std::string shape;              // a name of shapes()
  std::optional<int64_t> layers;  // the first ones, or of a drafter its target's number
  uint64_t seed = 0;
  bool sparse = false;  // matrices are holes in the files: true headers, almost no disk
};

struct SynthReport {
  int64_t tensors = 0;
  int64_t bytes = 0;  // of all tensors, holes included
};

// Makes the folder `out`, which must not exist or be empty: weights, config, and for targets a
// tokenizer and a chat template. The config comes last, so a folder that was not finished is no
// model. The same options give the same bytes.
Result<SynthReport> synthesize(const SynthOptions& options, const std::filesystem::path& out,
                               const Exec& ex);

}  // namespace spindrift::synth
