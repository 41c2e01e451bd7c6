#include "models/llama/load.h"

#include <string_view>

#include "models/dense_family.h"
#include "models/llama/config.h"
#include "models/llama/model.h"
#include "models/llama/weights.h"

namespace spindrift::llama {
namespace {

constexpr std::string_view kAttentionLinears[] = {"q_proj", "k_proj", "v_proj", "o_proj"};
constexpr std::string_view kMlpLinears[] = {"gate_proj", "up_proj", "down_proj"};
constexpr std::string_view kUnused[] = {".inv_freq"};
constexpr DenseNames kNames{.root = "model",
                            .embedding = "embed_tokens",
                            .positions = {},
                            .final_norm = "norm",
                            .layers = "layers",
                            .attention = "self_attn",
                            .mlp = "mlp",
                            .norms = {"input_layernorm", "post_attention_layernorm"},
                            .attention_linears = kAttentionLinears,
                            .mlp_linears = kMlpLinears,
                            .unused = kUnused};

}  // namespace

Result<LoadedTarget> load(const std::filesystem::path& folder, const JsonObject& json,
                          const TargetOptions& options) {
  return load_dense<Model>(folder, json, read_config(json), options);
}

Result<TargetDescription> describe(const std::filesystem::path& folder, const JsonObject& json) {
  SPINDRIFT_TRY(const Config config, read_config(json));
  return describe_dense(
      folder, json, kNames,
      {.info = info_of(config), .summary = summarise(config), .tied = config.tied});
}

}  // namespace spindrift::llama
