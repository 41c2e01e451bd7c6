#include "synth/granite_shapes.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "synth/tensors.h"
#include "synth/tokenizer_files.h"

namespace spindrift::synth {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kVocab = 49155, kHidden = 4096, kInner = 12800, kKvWidth = 1024;
constexpr int64_t kStages = 4;
constexpr double kEmbeddingSpread = 0.5;  // logits, divided by 16, then have a size of about two

std::string base_config(int64_t layers) {
  const Json json = {{"architectures", {"GraniteForCausalLM"}},
                     {"attention_bias", false},
                     {"attention_dropout", 0.1},
                     {"attention_multiplier", 0.0078125},
                     {"bos_token_id", 0},
                     {"embedding_multiplier", 12.0},
                     {"eos_token_id", 0},
                     {"hidden_act", "silu"},
                     {"hidden_size", kHidden},
                     {"initializer_range", 0.02},
                     {"intermediate_size", kInner},
                     {"logits_scaling", 16.0},
                     {"max_position_embeddings", 4096},
                     {"mlp_bias", false},
                     {"model_type", "granite"},
                     {"num_attention_heads", 32},
                     {"num_hidden_layers", layers},
                     {"num_key_value_heads", 8},
                     {"pad_token_id", 0},
                     {"residual_multiplier", 0.22},
                     {"rms_norm_eps", 1e-05},
                     {"rope_scaling", nullptr},
                     {"rope_theta", 10000},
                     {"tie_word_embeddings", true},
                     {"torch_dtype", "bfloat16"},
                     {"transformers_version", "4.46.0.dev0"},
                     {"use_cache", true},
                     {"vocab_size", kVocab}};
  return json.dump(2) + "\n";
}

std::string head_config() {
  const Json json = {{"architectures", {"MLPSpeculatorPreTrainedModel"}},
                     {"emb_dim", kHidden},
                     {"inner_dim", kHidden},
                     {"model_type", "mlp_speculator"},
                     {"n_candidates", 4},
                     {"n_predict", kStages},
                     {"scale_input", true},
                     {"tie_weights", true},
                     {"top_k_tokens_per_head", {4, 3, 2, 2}},
                     {"torch_dtype", "bfloat16"},
                     {"transformers_version", "4.44.0"},
                     {"vocab_size", kVocab}};
  return json.dump(2) + "\n";
}

}  // namespace

CheckpointPlan plan_granite_8b(int64_t layers) {
  TensorList list;
  list.matrix("model.embed_tokens", kVocab, kHidden, kEmbeddingSpread);
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = "model.layers." + std::to_string(i);
    list.linear(layer + ".self_attn.q_proj", kHidden, kHidden, Format::kBf16);
    list.linear(layer + ".self_attn.k_proj", kKvWidth, kHidden, Format::kBf16);
    list.linear(layer + ".self_attn.v_proj", kKvWidth, kHidden, Format::kBf16);
    list.linear(layer + ".self_attn.o_proj", kHidden, kHidden, Format::kBf16);
    list.linear(layer + ".mlp.gate_proj", kInner, kHidden, Format::kBf16);
    list.linear(layer + ".mlp.up_proj", kInner, kHidden, Format::kBf16);
    list.linear(layer + ".mlp.down_proj", kHidden, kInner, Format::kBf16);
    list.norm(layer + ".input_layernorm", kHidden);
    list.norm(layer + ".post_attention_layernorm", kHidden);
  }
  list.norm("model.norm", kHidden);
  CheckpointPlan plan;
  plan.shard_bytes = 5'000'000'000;
  plan.tensors = std::move(list).take();
  plan.texts.push_back({"config.json", base_config(layers)});
  plan.texts.push_back({"generation_config.json",
                        "{\n  \"bos_token_id\": 0,\n  \"eos_token_id\": 0,\n"
                        "  \"pad_token_id\": 0\n}\n"});
  for (TextFile& file : granite_tokenizer_files()) plan.texts.push_back(std::move(file));
  return plan;
}

CheckpointPlan plan_granite_8b_accelerator() {
  const double narrow = 1.0 / std::sqrt(static_cast<double>(kHidden));
  TensorList list;
  const auto stage = [](const char* part, int64_t i, const char* leaf) {
    return "speculator." + std::string(part) + "." + std::to_string(i) + leaf;
  };
  // Stage i repeats stage 0; the first projection reads the base's rows and stands alone.
  const auto tied = [&](const char* part, int64_t i, const char* leaf, std::vector<int64_t> shape,
                        double center, double spread) {
    Content content = {Content::Kind::kNormal, center, spread, 0, 0, {}};
    const int64_t origin = std::string(part) == "proj" ? std::min<int64_t>(i, 1) : 0;
    if (i > origin) content.follows = stage(part, origin, leaf);
    list.add(stage(part, i, leaf), DType::kBf16, std::move(shape), std::move(content));
  };
  for (const char* part : {"emb", "head"})
    for (int64_t i = 0; i < kStages; ++i)
      tied(part, i, ".weight", {kVocab, kHidden}, 0.0, *part == 'e' ? 1.0 : narrow);
  for (int64_t i = 0; i < kStages; ++i) {
    tied("ln", i, ".weight", {kHidden}, 1.0, 0.1);
    tied("ln", i, ".bias", {kHidden}, 0.0, 0.1);
  }
  for (int64_t i = 0; i < kStages; ++i) tied("proj", i, ".weight", {kHidden, kHidden}, 0.0, narrow);
  CheckpointPlan plan;
  plan.container = CheckpointPlan::Container::kTorchBin;
  plan.tensors = std::move(list).take();
  plan.texts.push_back({"config.json", head_config()});
  return plan;
}

}  // namespace spindrift::synth
