#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/types.h"
#include "drafters/pairing.h"
#include "io/json_config.h"

namespace spindrift::dflash {

inline constexpr std::string_view kArchitecture = "DFlashLagunaForCausalLM";
inline constexpr std::string_view kTargetFamily = "laguna";
inline constexpr int kMinBlockSize = 2;
inline constexpr int kMaxBlockSize = 64;

// The part of a drafter's config.json that its forward depends on. Everything the forward takes for
// granted (causal block, one softplus gate a head, every layer sliding, dense SwiGLU, plain RoPE on
// whole heads, the target's vocabulary) is checked by parse_config and not stored.
struct Config {
  std::string file;  // for messages
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int layers = 0;
  int64_t vocab = 0;
  float rms_norm_eps = 0.0F;
  double rope_theta = 0.0;
  Position window = 0;  // keys a block row sees, itself included
  int block_size = 0;   // rows of a block: the bonus token and block_size - 1 masks
  TokenId mask_token = 0;
  int target_layers = 0;
  std::vector<int> target_layer_ids;  // taps: the residual stream after these layers, ascending

  int taps() const { return static_cast<int>(target_layer_ids.size()); }
};

// True for a config.json that names this drafter's architecture or is of a format that parse_config
// refuses by name ("speculators").
bool recognises(const JsonObject& json);

// Reads and checks a config.json on its own. A broken rule is kInvalid, a well formed variant that
// this drafter does not implement is kUnsupported; the message names file and key, what was
// expected and what was found.
Result<Config> parse_config(const JsonObject& json);

// Checks that the drafter was made for a target of this shape: family, layers, width, vocabulary.
Status check_pairing(const Config& config, const TargetFacts& target);

}  // namespace spindrift::dflash
