#include "synth/drafter_shapes.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "synth/laguna_release.h"
#include "synth/tensors.h"

namespace spindrift::synth {
namespace {

using Json = nlohmann::ordered_json;

std::vector<int64_t> taps(const DflashModel& model, int64_t target_layers) {
  if (target_layers == model.target_layers) {
    if (model.layers == kXsDflash.layers) return {1, 13, 25, 33, 39};
    return {1, 10, 19, 29, 38, 47};
  }
  const int64_t first = target_layers > model.layers ? 1 : 0, last = target_layers - 1;
  std::vector<int64_t> spread;
  for (int64_t i = 0; i < model.layers; ++i)
    spread.push_back(first + i * (last - first) / std::max<int64_t>(1, model.layers - 1));
  return spread;
}

std::string config(const DflashModel& model, int64_t target_layers) {
  const std::vector<int64_t> layers = taps(model, target_layers);
  std::vector<int64_t> entering;  // vLLM counts the streams that enter a layer
  for (const int64_t layer : layers) entering.push_back(layer + 1);
  const auto count = static_cast<size_t>(model.layers);
  Json json = {{"architectures", {"DFlashLagunaForCausalLM"}},
               {"model_type", "laguna"},
               {"hidden_size", model.hidden},
               {"intermediate_size", model.inner},
               {"num_hidden_layers", model.layers},
               {"num_attention_heads", model.heads},
               {"num_key_value_heads", LagunaModel::kKvHeads},
               {"head_dim", LagunaModel::kHeadDim},
               {"rms_norm_eps", 1e-6},
               {"vocab_size", LagunaModel::kVocab},
               {"draft_vocab_size", LagunaModel::kVocab},
               {"max_position_embeddings", model.context},
               {"rope_theta", 500000.0},
               {"sliding_window", 512},
               {"layer_types", std::vector<std::string>(count, "sliding_attention")},
               {"gating", "per-head"},
               {"num_experts", 0},
               {"attention_bias", false},
               {"eagle_aux_hidden_state_layer_ids", entering},
               {"dflash_config",
                {{"block_size", 16},
                 {"mask_token_id", 12},
                 {"num_target_layers", target_layers},
                 {"target_layer_ids", layers},
                 {"causal", true}}}};
  if (model.layers == kSDflash.layers) json["sliding_windows"] = std::vector<int>(count, 512);
  return json.dump(2) + "\n";
}

std::vector<PlannedTensor> tensors(const DflashModel& model) {
  const int64_t hidden = model.hidden, width = model.heads * LagunaModel::kHeadDim;
  const int64_t qkv = width + 2 * LagunaModel::kKvHeads * LagunaModel::kHeadDim;
  TensorList list;
  const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
    list.linear(name, out, in, Format::kBf16);
  };
  linear("fc", hidden, model.layers * hidden);
  list.norm("hidden_norm", hidden);
  list.norm("norm", hidden);
  for (int64_t i = 0; i < model.layers; ++i)
    list.norm("aux_hidden_norms." + std::to_string(i), hidden);
  for (int64_t i = 0; i < model.layers; ++i) {
    const std::string layer = "layers." + std::to_string(i);
    list.norm(layer + ".input_layernorm", hidden);
    linear(layer + ".self_attn.qkv_proj", qkv, hidden);
    linear(layer + ".self_attn.o_proj", hidden, width);
    linear(layer + ".self_attn.g_proj", model.heads, hidden);
    list.norm(layer + ".self_attn.q_norm", LagunaModel::kHeadDim);
    list.norm(layer + ".self_attn.k_norm", LagunaModel::kHeadDim);
    list.norm(layer + ".post_attention_layernorm", hidden);
    linear(layer + ".mlp.gate_proj", model.inner, hidden);
    linear(layer + ".mlp.up_proj", model.inner, hidden);
    linear(layer + ".mlp.down_proj", hidden, model.inner);
  }
  return std::move(list).take();
}

}  // namespace

CheckpointPlan plan_dflash(const DflashModel& model, int64_t target_layers) {
  CheckpointPlan plan;
  plan.shard_bytes = 5'120'000'000;
  plan.tensors = tensors(model);
  plan.texts.push_back({"config.json", config(model, target_layers)});
  return plan;
}

}  // namespace spindrift::synth
