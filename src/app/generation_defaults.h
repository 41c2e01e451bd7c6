#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/result.h"
#include "core/types.h"
#include "engine/sampler.h"

namespace spindrift {

// What a model's own files say about generating with it: generation_config.json, and config.json's
// ids where that is silent. Unknown keys are passed over: publishers put their serving recipes
// there.
struct GenerationDefaults {
  SamplingParams sampling;  // greedy when the files say nothing or `do_sample: false`
  std::optional<int64_t> max_new_tokens;
  std::optional<bool> enable_thinking;  // default_chat_template_kwargs
  std::vector<TokenId> stop_ids;        // eos_token_id of both files, ascending
  std::optional<TokenId> bos_id;
};

// Reads both files of a model folder. Errors name file, key, expected and found.
Result<GenerationDefaults> load_generation_defaults(const std::filesystem::path& folder);

}  // namespace spindrift
