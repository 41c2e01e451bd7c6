#include <nlohmann/json.hpp>

#include "synth/laguna_release.h"

namespace spindrift::synth {
namespace {

using Json = nlohmann::ordered_json;

// ln-derived multipliers as the releases spell them, of factors 32 and 128.
constexpr double kFactor32 = 1.3465735902799727;

template <class Fn>
Json per_layer(int64_t layers, const Fn& value) {
  Json list = Json::array();
  for (int64_t layer = 0; layer < layers; ++layer) list.push_back(value(layer));
  return list;
}

Json yarn(double factor, int original, double beta_fast, double multiplier, double partial) {
  return {{"rope_theta", 500000.0},
          {"rope_type", "yarn"},
          {"factor", factor},
          {"original_max_position_embeddings", original},
          {"beta_slow", 1.0},
          {"beta_fast", beta_fast},
          {"attention_factor", multiplier},
          {"partial_rotary_factor", partial}};
}

Json rope(Series series) {
  if (series == Series::kM1) return yarn(64.0, 4096, 64.0, 1.0, 1.0);  // flat: one kind of layer
  Json full = yarn(32.0, 8192, series == Series::kS21 ? 32.0 : 64.0, kFactor32, 0.5);
  if (series == Series::kXs2) full = yarn(32.0, 4096, 64.0, 1.0, 0.5);
  Json all = {
      {"full_attention", full},
      {"sliding_attention",
       {{"rope_type", "default"}, {"rope_theta", 10000.0}, {"partial_rotary_factor", 1.0}}}};
  if (series == Series::kXs2) all["original_max_position_embeddings"] = 4096;
  return all;
}

Json arguments(const char* type, int bits, const char* strategy) {
  return {{"actorder", nullptr},
          {"block_structure", nullptr},
          {"dynamic", false},
          {"group_size", nullptr},
          {"num_bits", bits},
          {"observer", "memoryless_minmax"},
          {"observer_kwargs", Json::object()},
          {"scale_dtype", nullptr},
          {"strategy", strategy},
          {"symmetric", true},
          {"type", type},
          {"zp_dtype", nullptr}};
}

Json group(const char* format, Json targets, Json weights, Json inputs) {
  return {{"format", format},
          {"input_activations", std::move(inputs)},
          {"output_activations", nullptr},
          {"targets", std::move(targets)},
          {"weights", std::move(weights)}};
}

Json int_group(const char* targets, int bits) {
  Json weights = arguments("int", bits, "group");
  weights["group_size"] = 128;
  return group("pack-quantized", {targets}, weights, nullptr);
}

Json targets(const LagunaRelease& release) {
  if (release.late_experts_plain)
    return {R"(re:.*experts\.[0-9]+\.(gate_proj|up_proj|down_proj)$)"};
  if (release.series != Series::kM1) return {"Linear"};
  Json list = Json::array();
  for (const std::string part : {"gate_proj", "up_proj", "down_proj"}) {
    list.push_back(R"(re:.*\.mlp\.)" + part + "$");
    list.push_back(R"(re:.*\.mlp\.(experts\.[0-9]+|shared_expert)\.)" + part + "$");
  }
  return list;
}

Json groups(const LagunaRelease& release, int64_t layers) {
  if (release.quantization == Quantization::kInt4) {
    Json both = {
        {"group_0",
         int_group(R"(re:.*layers\.([1-9]|[12]\d|30)\..*(w[1-3]|gate_proj|up_proj|down_proj)$)",
                   4)}};
    // A slice has only the groups of its layers.
    if (release.experts(layers - 1) == Format::kInt8)
      both["group_1"] =
          int_group(R"(re:.*layers\.3[1-9]\..*(w[1-3]|gate_proj|up_proj|down_proj)$)", 8);
    return both;
  }
  if (release.quantization == Quantization::kFp8) {
    Json weights = arguments("float", 8, "block"), inputs = arguments("float", 8, "group");
    weights["block_structure"] = {128, 128};
    inputs["dynamic"] = true;
    inputs["group_size"] = 128;
    inputs["observer"] = nullptr;
    return {{"group_0", group("float-quantized", targets(release), weights, inputs)}};
  }
  Json weights = arguments("float", 4, "tensor_group");
  weights["group_size"] = 16;
  weights["scale_dtype"] = "torch.float8_e4m3fn";
  Json inputs = weights;
  inputs["dynamic"] = "local";
  inputs["observer"] = "static_minmax";
  return {{"group_0", group("nvfp4-pack-quantized", targets(release), weights, inputs)}};
}

Json ignored(const LagunaRelease& release) {
  Json list = {"lm_head"};
  if (release.dense_mlp() == Format::kBf16)
    for (const std::string part : {"gate_proj", "up_proj", "down_proj"})
      list.push_back("model.layers.0.mlp." + part);
  for (const std::string part : {"q_proj", "k_proj", "v_proj", "o_proj", "g_proj"})
    list.push_back(R"(re:.*\.self_attn\.)" + part + "$");
  list.push_back(R"(re:.*\.mlp\.gate$)");
  if (release.shared_expert() == Format::kBf16)
    for (const std::string part : {"gate_proj", "up_proj", "down_proj"})
      list.push_back(R"(re:.*\.mlp\.shared_expert\.)" + part + "$");
  if (release.late_experts_plain)
    list.push_back(R"(re:^model\.layers\.4[0-7]\.mlp\.experts(\..*)?$)");
  return list;
}

// The offline rotation of the residual stream: XS's INT4 and XS.2's FP8.
Json transforms(const LagunaRelease& release) {
  const bool rotated =
      release.quantization == Quantization::kInt4 || release.quantization == Quantization::kFp8;
  if (!rotated) return Json::object();
  const Json writers = {"re:.*embed_tokens$", "re:.*o_proj$", "re:.*down_proj$"};
  const Json readers = {"re:.*q_proj$",  "re:.*k_proj$",   "re:.*v_proj$", "re:.*gate_proj$",
                        "re:.*up_proj$", "re:.*mlp.gate$", "re:.*g_proj$", "re:.*lm_head$"};
  const Json apply = {{{"ignore", Json::array()},
                       {"inverse", false},
                       {"location", "weight_output"},
                       {"targets", writers}},
                      {{"ignore", Json::array()},
                       {"inverse", true},
                       {"location", "weight_input"},
                       {"targets", readers}}};
  return {{"config_groups",
           {{"R1",
             {{"apply", apply},
              {"head_dim", 128},
              {"precision", "torch.float64"},
              {"randomize", false},
              {"requires_grad", false},
              {"type", "hadamard"}}}}}};
}

Json compressed_tensors(const LagunaRelease& release, int64_t layers) {
  const Json config_groups = groups(release, layers);
  Json cache = arguments("float", 8, "tensor");
  cache["observer"] = "minmax";
  return {{"config_groups", config_groups},
          {"format", config_groups["group_0"]["format"]},
          {"global_compression_ratio", nullptr},
          {"ignore", ignored(release)},
          {"kv_cache_scheme", cache},
          {"quant_method", "compressed-tensors"},
          {"quantization_status", "compressed"},
          {"sparsity_config", Json::object()},
          {"transform_config", transforms(release)},
          {"version", "0.14.1.dev11+gf2ee47b"}};
}

// What the two MLX repackings say about their bits, under both keys that mlx-lm writes.
Json mlx_quantization(const LagunaRelease& release, int64_t layers) {
  if (release.quantization == Quantization::kMlxNvfp4)
    return {{"group_size", 16}, {"bits", 4}, {"mode", "nvfp4"}};
  Json bits = {{"group_size", 64}, {"bits", 4}};
  for (int64_t layer = release.model().dense_layers; layer < layers; ++layer)
    bits["model.layers." + std::to_string(layer) + ".mlp.gate"] = {{"group_size", 64}, {"bits", 8}};
  return bits;
}

void add_attention(Json& json, const LagunaRelease& release, int64_t layers) {
  const LagunaModel& model = release.model();
  json["num_attention_heads"] = model.full_heads;
  json["num_key_value_heads"] = LagunaModel::kKvHeads;
  json["head_dim"] = LagunaModel::kHeadDim;
  json["attention_bias"] = false;
  json["rope_parameters"] = rope(release.series);
  json["sliding_window"] = model.all_full ? 0 : 512;
  if (release.series == Series::kXs2) {
    json["gating"] = true;
    json["partial_rotary_factor"] = 0.5;
    if (release.quantization != Quantization::kNone) json["use_bidirectional_attention"] = false;
  } else {
    json["gating"] = model.gate_per_element ? "per-element" : "per-head";
  }
  if (model.all_full) return;
  json["layer_types"] = per_layer(layers, [&](int64_t layer) {
    return model.full(layer) ? "full_attention" : "sliding_attention";
  });
  json["num_attention_heads_per_layer"] =
      per_layer(layers, [&](int64_t layer) { return model.heads(layer); });
  if (release.series != Series::kXs2)
    json["gating_types"] = per_layer(layers, [](int64_t) { return "per_head"; });
}

void add_experts(Json& json, const LagunaRelease& release, int64_t layers) {
  const LagunaModel& model = release.model();
  json["num_experts"] = LagunaModel::kExperts;
  json["num_experts_per_tok"] = model.experts_per_token;
  json["moe_intermediate_size"] = model.expert_inner;
  json["shared_expert_intermediate_size"] = model.expert_inner;
  json["moe_routed_scaling_factor"] = release.series == Series::kM1 ? 1.0 : 2.5;
  json["moe_apply_router_weight_on_input"] = false;
  json["router_aux_loss_coef"] = 0.0;
  if (release.series != Series::kXs2) {
    json["norm_topk_prob"] = true;
    json["decoder_sparse_step"] = 1;
    json["mlp_only_layers"] =
        per_layer(std::min(layers, model.dense_layers), [](int64_t layer) { return layer; });
  }
  if (release.series == Series::kM1) return;
  json["mlp_layer_types"] = per_layer(
      layers, [&](int64_t layer) { return layer < model.dense_layers ? "dense" : "sparse"; });
}

}  // namespace

std::string laguna_config(const LagunaRelease& release, int64_t layers) {
  const LagunaModel& model = release.model();
  const int64_t context =
      release.series == Series::kXs2                                                  ? 131072
      : release.series == Series::kS21 && release.quantization == Quantization::kNone ? 1048576
                                                                                      : 262144;
  Json json = {{"architectures", {"LagunaForCausalLM"}},
               {"auto_map",
                {{"AutoConfig", "configuration_laguna.LagunaConfig"},
                 {"AutoModelForCausalLM", "modeling_laguna.LagunaForCausalLM"}}},
               {"model_type", "laguna"},
               {"vocab_size", LagunaModel::kVocab},
               {"hidden_size", model.hidden},
               {"intermediate_size", model.dense_inner},
               {"num_hidden_layers", layers},
               {"max_position_embeddings", context},
               {"attention_dropout", 0.0},
               {"rms_norm_eps", 1e-6},
               {"bos_token_id", 2},
               {"eos_token_id", {2, 24}},
               {"pad_token_id", 9},
               {"tie_word_embeddings", false},
               {"use_cache", true},
               {"torch_dtype", "bfloat16"}};
  add_attention(json, release, layers);
  add_experts(json, release, layers);
  if (release.mlx()) {
    json["quantization"] = json["quantization_config"] = mlx_quantization(release, layers);
  } else if (release.quantization != Quantization::kNone) {
    json["quantization_config"] = compressed_tensors(release, layers);
  }
  return json.dump(2) + "\n";
}

std::string laguna_generation_config(Series series) {
  Json json = {{"bos_token_id", 2}, {"do_sample", true}, {"eos_token_id", {2, 24}}};
  json["pad_token_id"] = 9;
  if (series == Series::kXs2 || series == Series::kM1) {
    json["temperature"] = 0.7;
    json["top_p"] = 0.9;
    return json.dump(2) + "\n";
  }
  json["temperature"] = 1.0;
  json["top_p"] = 1.0;
  json["top_k"] = 20;
  json["min_p"] = 0.0;
  json["reasoning_parser"] = json["tool_call_parser"] = "poolside_v1";
  json["default_chat_template_kwargs"] = {{"enable_thinking", series == Series::kS21}};
  json["speculative_config"] = {{"method", "dflash"}, {"num_speculative_tokens", 15}};
  return json.dump(2) + "\n";
}

}  // namespace spindrift::synth
