#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "drafters/mlp_speculator/options.h"
#include "drafters/pairing.h"
#include "io/json_config.h"

namespace spindrift::mlp_speculator {

inline constexpr int kMaxStages = 16;
// Continuations that the stages of one round may spread to: the product of top_k.
inline constexpr int64_t kMaxLeaves = 4096;

// An MLPSpeculator head's config.json. Defaults are those of fms-extras' MLPSpeculatorConfig.
struct Config {
  std::string file;                           // for messages
  int64_t hidden = 4096;                      // `emb_dim`: width of the target's rows
  int64_t inner = 4096;                       // `inner_dim`, 0 in the file = `emb_dim`
  int64_t vocab = 32000;                      // the target's
  int stages = 3;                             // `n_predict`
  std::vector<int> top_k = {5, 4, 3};         // `top_k_tokens_per_head`, one a stage
  int candidates = 5;                         // `n_candidates`
  bool scale_input = false;                   // the target's row is normed first
  bool tied = false;                          // `tie_weights`: the stages share their weights
  std::vector<std::string> base_model_archs;  // classes of targets it fits; empty = unknown
};

// True for a config.json of an MLPSpeculator head, IBM's or Arctic's, and for the LSTM relatives
// that parse_config refuses by name.
bool recognises(const JsonObject& json);

// Reads and checks a config.json on its own. A broken rule is kInvalid, a relative that is not
// implemented is kUnsupported; the message names file and key, what was expected and what was
// found.
Result<Config> parse_config(const JsonObject& json);

// Checks what can be checked of a head and a target: width, vocabulary, and the target's class
// where the config lists classes.
Status check_pairing(const Config& config, const TargetFacts& target);

// Puts a user's options over the config's; kUsage names the option.
Status apply_options(const MlpSpeculatorOptions& options, Config& config);

}  // namespace spindrift::mlp_speculator
