#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "core/types.h"
#include "io/json_config.h"
#include "kernels/contract.h"
#include "nn/moe.h"
#include "nn/quantization_claims.h"
#include "nn/rope.h"

namespace spindrift::laguna {

enum class Gate : uint8_t { kPerHead, kPerElement };

struct LayerConfig {
  int64_t heads = 0;
  bool sliding = false;
  bool sparse = false;       // a mixture of experts, else a dense MLP
  std::optional<Gate> gate;  // what the config claims; the weights decide
};

struct RopeConfig {
  double theta = 0.0;
  int64_t rotated = 0;  // features of a head that are rotated
  std::optional<nn::YarnRamp> yarn;
  double multiplier = 1.0;  // final factor of cos and sin

  nn::Rope make() const;
};

// A Laguna target's config.json, checked: every value is in range and they agree with each other.
struct Config {
  std::string file;  // for errors about weights that contradict it
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;  // inner size of dense layers; 0 when there are none
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  Position max_context = 0;
  Position window = 0;  // keys a query of a sliding layer sees, itself included; 0 = no such layer
  float eps = 0.0F;
  bool tied = false;   // the head is the embedding
  bool sinks = false;  // sliding layers have an attention sink a head
  std::vector<LayerConfig> layers;
  RopeConfig full_rope, sliding_rope;  // the second is meaningful when window > 0

  int64_t experts = 0;  // 0 when every layer is dense
  int64_t expert_inner = 0;
  int64_t shared_inner = 0;  // 0 = no shared expert
  nn::RouterRule router;

  nn::QuantizationClaims claims;  // which layers are stored how, as quantization_config has it
  bool rotated_residual = false;  // the release's weights live in a Hadamard-rotated basis
};

struct ConfigOptions {
  bool derived_rope_multiplier = false;  // YaRN's derived multiplier in place of attention_factor
};

// Reads a target's config. Errors name file, key, expected and found. Warnings are appended.
// Defaults and meanings: the published configuration class of the model.
Result<Config> read_config(const JsonObject& json, const ConfigOptions& options,
                           std::vector<std::string>& warnings);

}  // namespace spindrift::laguna
