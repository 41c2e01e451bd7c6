#include "models/gpt_bigcode/load.h"

#include <string_view>

#include "models/dense_family.h"
#include "models/gpt_bigcode/config.h"
#include "models/gpt_bigcode/model.h"
#include "models/gpt_bigcode/weights.h"

namespace spindrift::gpt_bigcode {
namespace {

constexpr std::string_view kAttentionLinears[] = {"c_attn", "c_proj"};
constexpr std::string_view kMlpLinears[] = {"c_fc", "c_proj"};
constexpr std::string_view kUnused[] = {".attn.bias", ".attn.masked_bias"};
constexpr DenseNames kNames{.root = "transformer",
                            .embedding = "wte",
                            .positions = "wpe",
                            .final_norm = "ln_f",
                            .layers = "h",
                            .attention = "attn",
                            .mlp = "mlp",
                            .norms = {"ln_1", "ln_2"},
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

}  // namespace spindrift::gpt_bigcode
