#include "synth/laguna_release.h"

#include <utility>

#include "synth/tensors.h"
#include "synth/tokenizer_files.h"

namespace spindrift::synth {
namespace {

constexpr LagunaModel kXs = {40, 2048, 8192, 48, 64, 8, 512, 1, false, false};
constexpr LagunaModel kS = {48, 3072, 12288, 48, 72, 10, 1024, 1, false, false};
constexpr LagunaModel kM = {70, 4096, 16384, 64, 64, 16, 1024, 3, true, true};

// What the sizes of the shards of XS-2.1-NVFP4 and S-2.1-NVFP4 say; mlx-lm's own limit.
constexpr int64_t kShardBytes = 5'120'000'000, kMlxShardBytes = int64_t{5} << 30;

// The last layer of XS 2.1 INT4 whose experts have four bits, and the last whose experts S 2.1's
// newer NVFP4 revision quantises.
constexpr int64_t kLastInt4Layer = 30, kLastNvfp4Layer = 39;

Format everywhere(const LagunaRelease& release) {
  switch (release.quantization) {
    case Quantization::kNvfp4:
      return Format::kNvfp4;
    case Quantization::kFp8:
      return Format::kFp8;
    case Quantization::kMlx4Bit:
      return Format::kAffine4;
    case Quantization::kMlxNvfp4:
      return Format::kMlxNvfp4;
    default:
      return Format::kBf16;
  }
}

class Planner {
 public:
  Planner(const LagunaRelease& release, int64_t layers)
      : release_(release), model_(release.model()), layers_(layers) {
    // In S 2.1 the scales of whole tensors have no dimension.
    linear_.scalar_scales = release.series == Series::kS21;
  }

  std::vector<PlannedTensor> tensors() && {
    const int64_t vocab = LagunaModel::kVocab;
    if (release_.mlx()) {
      linear("model.embed_tokens", vocab, model_.hidden, release_.attention());
    } else {
      list_.matrix("model.embed_tokens", vocab, model_.hidden, 0.5);
    }
    for (int64_t layer = 0; layer < layers_; ++layer) add_layer(layer);
    list_.norm("model.norm", model_.hidden);
    linear("lm_head", vocab, model_.hidden, release_.attention());
    // The newer revision of S 2.1 has its quantised experts in shards of their own.
    for (int64_t layer = 0; layer < layers_ && release_.late_experts_plain; ++layer) {
      if (layer < model_.dense_layers || layer > kLastNvfp4Layer) continue;
      list_.new_shard_group();
      add_experts(layer);
    }
    return std::move(list_).take();
  }

 private:
  void linear(const std::string& name, int64_t out, int64_t in, Format format) {
    list_.linear(name, out, in, format, linear_);
  }

  void add_mlp(const std::string& name, int64_t inner, Format format) {
    linear(name + ".gate_proj", inner, model_.hidden, format);
    linear(name + ".up_proj", inner, model_.hidden, format);
    linear(name + ".down_proj", model_.hidden, inner, format);
  }

  void add_attention(const std::string& name, int64_t layer) {
    const int64_t heads = model_.heads(layer), width = heads * LagunaModel::kHeadDim;
    const int64_t kv_width = LagunaModel::kKvHeads * LagunaModel::kHeadDim;
    const Format format = release_.attention();
    linear(name + ".q_proj", width, model_.hidden, format);
    linear(name + ".k_proj", kv_width, model_.hidden, format);
    linear(name + ".v_proj", kv_width, model_.hidden, format);
    linear(name + ".o_proj", model_.hidden, width, format);
    linear(name + ".g_proj", model_.gate_per_element ? width : heads, model_.hidden, format);
    list_.norm(name + ".q_norm", LagunaModel::kHeadDim);
    list_.norm(name + ".k_norm", LagunaModel::kHeadDim);
    if (release_.mlx() || release_.quantization == Quantization::kNone) return;
    for (const char* scale : {".k_scale", ".v_scale"})  // of a quantised cache, unused here
      list_.add(name + scale, DType::kBf16, {1}, {Content::Kind::kUniform, 0.05, 0.0, 0, 0, {}});
  }

  void add_experts(int64_t layer) {
    const std::string mlp = "model.layers." + std::to_string(layer) + ".mlp.";
    if (release_.mlx()) {
      linear_.stack = LagunaModel::kExperts;
      add_mlp(mlp + "switch_mlp", model_.expert_inner, release_.experts(layer));
      linear_.stack = 0;
      return;
    }
    for (int64_t expert = 0; expert < LagunaModel::kExperts; ++expert)
      add_mlp(mlp + "experts." + std::to_string(expert), model_.expert_inner,
              release_.experts(layer));
  }

  void add_layer(int64_t layer) {
    const std::string name = "model.layers." + std::to_string(layer);
    list_.norm(name + ".input_layernorm", model_.hidden);
    add_attention(name + ".self_attn", layer);
    list_.norm(name + ".post_attention_layernorm", model_.hidden);
    if (layer < model_.dense_layers)
      return add_mlp(name + ".mlp", model_.dense_inner, release_.dense_mlp());
    linear(name + ".mlp.gate", LagunaModel::kExperts, model_.hidden, release_.router());
    const char* bias = release_.mlx() ? ".mlp.gate.e_score_correction_bias"
                                      : ".mlp.experts.e_score_correction_bias";
    list_.add(name + bias, DType::kF32, {LagunaModel::kExperts},
              {Content::Kind::kNormal, 0.0, 0.02, 0, 0, {}});
    if (!release_.late_experts_plain || layer > kLastNvfp4Layer) add_experts(layer);
    add_mlp(name + ".mlp.shared_expert", model_.expert_inner, release_.shared_expert());
  }

  const LagunaRelease& release_;
  const LagunaModel& model_;
  int64_t layers_;
  TensorList::LinearOptions linear_;
  TensorList list_;
};

}  // namespace

const LagunaModel& LagunaRelease::model() const {
  if (series == Series::kS21) return kS;
  return series == Series::kM1 ? kM : kXs;
}

Format LagunaRelease::experts(int64_t layer) const {
  if (quantization == Quantization::kInt4)
    return layer <= kLastInt4Layer ? Format::kInt4 : Format::kInt8;
  if (late_experts_plain && layer > kLastNvfp4Layer) return Format::kBf16;
  return everywhere(*this);
}

Format LagunaRelease::shared_expert() const {
  return series == Series::kS21 ? Format::kBf16 : everywhere(*this);
}

Format LagunaRelease::dense_mlp() const {
  const bool quantised = series == Series::kXs2 || series == Series::kM1;
  return quantised || quantization == Quantization::kMlx4Bit ? everywhere(*this) : Format::kBf16;
}

Format LagunaRelease::attention() const {
  return quantization == Quantization::kMlx4Bit ? Format::kAffine4 : Format::kBf16;
}

Format LagunaRelease::router() const {
  return quantization == Quantization::kMlx4Bit ? Format::kAffine8 : Format::kBf16;
}

CheckpointPlan plan_laguna(const LagunaRelease& release, int64_t layers) {
  CheckpointPlan plan;
  plan.shard_bytes = release.mlx() ? kMlxShardBytes : kShardBytes;
  if (release.mlx()) plan.maker = "mlx";
  plan.tensors = Planner(release, layers).tensors();
  plan.texts.push_back({"config.json", laguna_config(release, layers)});
  plan.texts.push_back({"generation_config.json", laguna_generation_config(release.series)});
  for (TextFile& file : laguna_tokenizer_files()) plan.texts.push_back(std::move(file));
  return plan;
}

}  // namespace spindrift::synth
