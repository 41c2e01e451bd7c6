#include "support/tiny_checkpoint.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <string_view>
#include <utility>

#include "core/bf16.h"
#include "core/f16.h"
#include "support/safetensors_builder.h"

namespace spindrift::testing {
namespace {

// Deterministic on every machine: a counter through a mixing function.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 1) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  // Zero mean, unit variance, bounded by 3.5: a sum of four uniforms.
  float normal() {
    double sum = -2.0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(bits() >> 11) * 0x1p-53;
    return static_cast<float>(sum * std::sqrt(3.0));
  }

 private:
  uint64_t state_;
};

uint64_t seed_of(std::string_view name, uint64_t seed) {
  uint64_t hash = seed;
  for (const char c : name) hash = hash * 1099511628211U + static_cast<unsigned char>(c);
  return hash;
}

template <class T>
void append(std::string& data, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  data.append(bytes, sizeof(T));
}

int64_t elements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

TinyTensor float_tensor(std::vector<int64_t> shape, TinyFormat format,
                        const std::function<float()>& next) {
  TinyTensor tensor{format == TinyFormat::kF32   ? "F32"
                    : format == TinyFormat::kF16 ? "F16"
                                                 : "BF16",
                    std::move(shape),
                    {}};
  for (int64_t i = elements(tensor.shape); i > 0; --i) {
    const float value = next();
    if (format == TinyFormat::kF32) {
      append(tensor.data, value);
    } else {
      append(tensor.data,
             format == TinyFormat::kF16 ? f16_from_float(value) : bf16_from_float(value));
    }
  }
  return tensor;
}

TinyTensor byte_tensor(std::string dtype, std::vector<int64_t> shape,
                       const std::function<uint8_t()>& next) {
  TinyTensor tensor{std::move(dtype), std::move(shape), {}};
  for (int64_t i = elements(tensor.shape); i > 0; --i) append(tensor.data, next());
  return tensor;
}

template <class T>
std::string json_list(const std::vector<T>& values, const std::function<std::string(T)>& text) {
  std::string list = "[";
  for (size_t i = 0; i < values.size(); ++i)
    list.append(i == 0 ? "" : ", ").append(text(values[i]));
  return list.append("]");
}

std::string words(const std::vector<bool>& flags, const char* no, const char* yes) {
  return json_list<bool>(
      flags, [=](bool flag) { return std::string("\"").append(flag ? yes : no).append("\""); });
}

void add_norm(TinyCheckpoint& checkpoint, const std::string& name, int64_t size, uint64_t seed) {
  Random random(seed_of(name, seed));
  checkpoint.tensors[name + ".weight"] =
      float_tensor({size}, TinyFormat::kBf16, [&] { return 1.0F + 0.2F * random.normal(); });
}

void add_mlp(TinyCheckpoint& checkpoint, const std::string& name, int64_t hidden, int64_t inner,
             TinyFormat format, uint64_t seed) {
  add_tiny_linear(checkpoint, name + ".gate_proj", inner, hidden, format, seed);
  add_tiny_linear(checkpoint, name + ".up_proj", inner, hidden, format, seed);
  add_tiny_linear(checkpoint, name + ".down_proj", hidden, inner, format, seed);
}

void add_layer(TinyCheckpoint& checkpoint, const TinyLaguna& shape, size_t index) {
  const std::string name = "model.layers." + std::to_string(index);
  const std::string attention = name + ".self_attn";
  const int64_t heads = shape.heads[index], width = heads * shape.head_dim;
  const int64_t kv_width = shape.kv_heads * shape.head_dim;
  const auto linear = [&](const std::string& leaf, int64_t out, int64_t in) {
    add_tiny_linear(checkpoint, attention + leaf, out, in, shape.format, shape.seed);
  };
  add_norm(checkpoint, name + ".input_layernorm", shape.hidden, shape.seed);
  add_norm(checkpoint, name + ".post_attention_layernorm", shape.hidden, shape.seed);
  linear(".q_proj", width, shape.hidden);
  linear(".k_proj", kv_width, shape.hidden);
  linear(".v_proj", kv_width, shape.hidden);
  linear(".o_proj", shape.hidden, width);
  linear(".g_proj", shape.per_element_gate ? width : heads, shape.hidden);
  add_norm(checkpoint, attention + ".q_norm", shape.head_dim, shape.seed);
  add_norm(checkpoint, attention + ".k_norm", shape.head_dim, shape.seed);
  Random random(seed_of(attention, shape.seed));
  if (shape.sinks && shape.sliding[index]) {
    checkpoint.tensors[attention + ".sink"] =
        float_tensor({heads}, TinyFormat::kBf16, [&] { return random.normal(); });
  }
  const std::string mlp = name + ".mlp";
  if (!shape.sparse[index]) {
    add_mlp(checkpoint, mlp, shape.hidden, shape.intermediate, shape.format, shape.seed);
    return;
  }
  add_tiny_linear(checkpoint, mlp + ".gate", shape.experts, shape.hidden, TinyFormat::kBf16,
                  shape.seed);
  checkpoint.tensors[mlp + ".experts.e_score_correction_bias"] =
      float_tensor({shape.experts}, TinyFormat::kF32, [&] { return 0.2F * random.normal(); });
  for (int64_t e = 0; e < shape.experts; ++e) {
    add_mlp(checkpoint, mlp + ".experts." + std::to_string(e), shape.hidden, shape.expert_inner,
            shape.expert_format, shape.seed);
  }
  if (shape.shared_inner > 0) {
    add_mlp(checkpoint, mlp + ".shared_expert", shape.hidden, shape.shared_inner,
            shape.expert_format, shape.seed);
  }
}

std::map<std::string, std::string> config_of(const TinyLaguna& shape) {
  std::map<std::string, std::string> config = {
      {"architectures", R"(["LagunaForCausalLM"])"},
      {"model_type", R"("laguna")"},
      {"num_hidden_layers", std::to_string(shape.heads.size())},
      {"num_attention_heads", std::to_string(shape.heads.front())},
      {"num_attention_heads_per_layer",
       json_list<int64_t>(shape.heads, [](int64_t n) { return std::to_string(n); })},
      {"layer_types", words(shape.sliding, "full_attention", "sliding_attention")},
      {"mlp_layer_types", words(shape.sparse, "dense", "sparse")},
      {"gating", shape.per_element_gate ? R"("per-element")" : R"("per-head")"},
      {"rms_norm_eps", "1e-06"},
      {"max_position_embeddings", "4096"},
      {"norm_topk_prob", "true"},
      {"moe_routed_scaling_factor", "2.5"},
      {"tie_word_embeddings", shape.tied ? "true" : "false"},
      {"rope_parameters",
       R"({"full_attention": {"rope_type": "yarn", "rope_theta": 500000.0, "factor": 8.0,
           "original_max_position_embeddings": 64, "beta_fast": 64.0, "beta_slow": 1.0,
           "attention_factor": 1.2079441541679836, "partial_rotary_factor": 0.5},
           "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}})"},
  };
  const std::pair<const char*, int64_t> sizes[] = {
      {"vocab_size", shape.vocab},
      {"hidden_size", shape.hidden},
      {"intermediate_size", shape.intermediate},
      {"num_key_value_heads", shape.kv_heads},
      {"head_dim", shape.head_dim},
      {"sliding_window", shape.window},
      {"num_experts", shape.experts},
      {"num_experts_per_tok", shape.top_k},
      {"moe_intermediate_size", shape.expert_inner},
      {"shared_expert_intermediate_size", shape.shared_inner}};
  for (const auto& [key, value] : sizes) config[key] = std::to_string(value);
  if (shape.sinks) config["swa_attention_sink_enabled"] = "true";
  if (shape.expert_format == TinyFormat::kNvfp4)
    config["quantization_config"] = R"({"format": "nvfp4-pack-quantized"})";
  return config;
}

}  // namespace

void add_tiny_linear(TinyCheckpoint& checkpoint, const std::string& name, int64_t out, int64_t in,
                     TinyFormat format, uint64_t seed) {
  Random random(seed_of(name, seed));
  const float spread = 1.2F / std::sqrt(static_cast<float>(in));
  const auto add = [&](const char* leaf, TinyTensor tensor) {
    checkpoint.tensors[name + "." + leaf] = std::move(tensor);
  };
  const auto any_byte = [&] { return static_cast<uint8_t>(random.bits() & 0xFFU); };
  // Codes of any value; block scales around 2^0 (0x38).
  const auto block_scale = [&] { return static_cast<uint8_t>(0x30U + (random.bits() & 0xFU)); };
  const auto words = [&](const char* dtype, int bits) {
    TinyTensor codes = byte_tensor(dtype, {out, in * bits / 8}, any_byte);
    codes.shape = {out, in * bits / 32};
    return codes;
  };
  // Scales that spread codes of so many values as wide as plain weights.
  const auto scales = [&](float values) {
    return float_tensor({out, in / 32}, TinyFormat::kBf16,
                        [&] { return spread / values * (4.0F + random.normal()); });
  };
  switch (format) {
    case TinyFormat::kF32:
    case TinyFormat::kBf16:
    case TinyFormat::kF16:
      return add("weight",
                 float_tensor({out, in}, format, [&] { return spread * random.normal(); }));
    case TinyFormat::kNvfp4:
      add("weight_packed", byte_tensor("U8", {out, in / 2}, any_byte));
      add("weight_scale", byte_tensor("F8_E4M3", {out, in / 16}, block_scale));
      add("weight_global_scale",
          float_tensor({1}, TinyFormat::kF32, [&] { return 3.0F / spread; }));
      return add("input_global_scale", float_tensor({1}, TinyFormat::kF32, [] { return 77.0F; }));
    case TinyFormat::kMlxNvfp4:
      add("weight", words("U32", 4));
      return add("scales", byte_tensor("U8", {out, in / 16}, [&] {
                   return static_cast<uint8_t>(0x10U + (random.bits() & 0xFU));
                 }));
    case TinyFormat::kFp8:
      // Codes below 2: exponents up to that of 1.
      add("weight", byte_tensor("F8_E4M3", {out, in},
                                [&] { return static_cast<uint8_t>(random.bits() & 0xBFU); }));
      return add("weight_scale",
                 float_tensor({(out + 127) / 128, (in + 127) / 128}, TinyFormat::kBf16,
                              [&] { return spread * (3.0F + random.normal()); }));
    case TinyFormat::kInt4:
    case TinyFormat::kInt8: {
      const int bits = format == TinyFormat::kInt4 ? 4 : 8;
      add("weight_packed", words("I32", bits));
      add("weight_scale", scales(bits == 4 ? 16.0F : 256.0F));
      TinyTensor shape{"I64", {2}, {}};
      append(shape.data, out);
      append(shape.data, in);
      return add("weight_shape", std::move(shape));
    }
    case TinyFormat::kAffine4:
    case TinyFormat::kAffine8: {
      const int bits = format == TinyFormat::kAffine4 ? 4 : 8;
      add("weight", words("U32", bits));
      add("scales", scales(bits == 4 ? 16.0F : 256.0F));
      return add("biases", float_tensor({out, in / 32}, TinyFormat::kBf16,
                                        [&] { return spread * (-2.0F + 0.5F * random.normal()); }));
    }
  }
}

TinyCheckpoint tiny_laguna(const TinyLaguna& shape) {
  TinyCheckpoint checkpoint;
  checkpoint.config = config_of(shape);
  add_tiny_linear(checkpoint, "model.embed_tokens", shape.vocab, shape.hidden, TinyFormat::kBf16,
                  shape.seed);
  add_norm(checkpoint, "model.norm", shape.hidden, shape.seed);
  if (!shape.tied) {
    add_tiny_linear(checkpoint, "lm_head", shape.vocab, shape.hidden, TinyFormat::kBf16,
                    shape.seed);
  }
  for (size_t i = 0; i < shape.heads.size(); ++i) add_layer(checkpoint, shape, i);
  return checkpoint;
}

void TinyCheckpoint::write(const std::filesystem::path& folder) const {
  std::ofstream json(folder / "config.json");
  json << "{";
  const char* separator = "";
  for (const auto& [key, value] : config) {
    json << separator << '"' << key << "\": " << value;
    separator = ",\n";
  }
  json << "}\n";
  SafetensorsBuilder builder;
  for (const auto& [name, tensor] : tensors)
    builder.add(name, tensor.dtype, tensor.shape, tensor.data);
  const std::string file = builder.file();
  std::ofstream(folder / "model.safetensors", std::ios::binary)
      .write(file.data(), static_cast<std::streamsize>(file.size()));
}

}  // namespace spindrift::testing
