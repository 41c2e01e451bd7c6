#include "unit/drafters/dflash_fixture.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"
#include "nn/formats.h"
#include "support/safetensors_builder.h"

namespace spindrift::testing {
namespace {

std::span<const std::byte> as_bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

dflash::Weights must_load(WeightStore& store, const dflash::Config& config) {
  auto weights = dflash::load_weights(store, config);
  SPINDRIFT_CHECK(weights.ok(), weights.ok() ? "" : weights.error().message.c_str());
  return std::move(weights).value();
}

}  // namespace

float Noise::next() {
  state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<float>(static_cast<int64_t>(state_ >> 40)) / static_cast<float>(1 << 23) -
         1.0F;
}

std::vector<float> Noise::floats(int64_t count, float scale, float offset) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = offset + scale * next();
  return values;
}

LendingTarget::LendingTarget(int64_t vocab, int64_t hidden, int layers)
    : info_{.vocab = vocab, .hidden = hidden, .layers = layers, .max_context = 4096},
      table_(Noise(99).floats(vocab * hidden)),
      head_(nn::dense_linear(DType::kF32, as_bytes(table_), {.out = vocab, .in = hidden})) {}

std::unique_ptr<Sequence> LendingTarget::open() const { return nullptr; }

ForwardResult LendingTarget::forward(std::span<const SeqRows> /*batch*/,
                                     const ForwardOptions& /*options*/, Workspace& /*ws*/,
                                     const Exec& /*ex*/) const {
  SPINDRIFT_CHECK(false, "a drafter never runs its target");
  return {};
}

void LendingTarget::embed(std::span<const TokenId> ids, Rows out) const {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::span<float> row = out.row(static_cast<int64_t>(i));
    std::copy_n(table_.begin() + ids[i] * info_.hidden, info_.hidden, row.begin());
    if (static_cast<int64_t>(i) == changed_row) row[0] += 0.5F;
  }
}

void LendingTarget::lm_head(ConstRows hidden, Rows logits, const Exec& ex) const {
  nn::apply(*head_, hidden, logits, ex);
}

dflash::Config small_dflash_config(int layers, Position window, int block_size) {
  dflash::Config c{.file = "config.json",
                   .hidden = 32,
                   .intermediate = 40,
                   .heads = 6,
                   .kv_heads = 2,
                   .head_dim = 8,
                   .layers = layers,
                   .vocab = 60,
                   .rms_norm_eps = 1e-6F,
                   .rope_theta = 10000.0,
                   .window = window,
                   .block_size = block_size,
                   .mask_token = 7,
                   .target_layers = 2 * layers,
                   .target_layer_ids = {}};
  for (int i = 0; i < layers; ++i) c.target_layer_ids.push_back(2 * i + 1);
  return c;
}

NamedTensors random_dflash_tensors(const dflash::Config& c) {
  NamedTensors tensors;
  Noise noise(5);
  const auto norm = [&](const std::string& name, int64_t size) {
    tensors[name + ".weight"] = {{size}, noise.floats(size, 0.3F, 1.0F)};
  };
  const auto linear = [&](const std::string& name, int64_t out, int64_t in) {
    tensors[name + ".weight"] = {{out, in}, noise.floats(out * in, 0.3F)};
  };
  linear("fc", c.hidden, c.taps() * c.hidden);
  norm("hidden_norm", c.hidden);
  norm("norm", c.hidden);
  for (int i = 0; i < c.taps(); ++i) norm("aux_hidden_norms." + std::to_string(i), c.hidden);
  for (int i = 0; i < c.layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    norm(layer + "input_layernorm", c.hidden);
    norm(layer + "post_attention_layernorm", c.hidden);
    norm(layer + "self_attn.q_norm", c.head_dim);
    norm(layer + "self_attn.k_norm", c.head_dim);
    linear(layer + "self_attn.qkv_proj", (c.heads + 2 * c.kv_heads) * c.head_dim, c.hidden);
    linear(layer + "self_attn.o_proj", c.hidden, c.heads * c.head_dim);
    linear(layer + "self_attn.g_proj", c.heads, c.hidden);
    linear(layer + "mlp.gate_proj", c.intermediate, c.hidden);
    linear(layer + "mlp.up_proj", c.intermediate, c.hidden);
    linear(layer + "mlp.down_proj", c.hidden, c.intermediate);
  }
  return tensors;
}

NamedTensors split_qkv(const NamedTensors& fused, const dflash::Config& c) {
  NamedTensors tensors = fused;
  for (int i = 0; i < c.layers; ++i) {
    const std::string attention = "layers." + std::to_string(i) + ".self_attn.";
    const NamedTensor qkv = tensors.extract(attention + "qkv_proj.weight").mapped();
    auto from = qkv.values.begin();
    for (const auto& [name, heads] : {std::pair{"q_proj.weight", c.heads},
                                      {"k_proj.weight", c.kv_heads},
                                      {"v_proj.weight", c.kv_heads}}) {
      const int64_t rows = heads * c.head_dim;
      const auto to = from + rows * c.hidden;
      tensors[attention + name] = {{rows, c.hidden}, std::vector<float>(from, to)};
      from = to;
    }
  }
  return tensors;
}

StoredTensors::StoredTensors(const NamedTensors& tensors) {
  SafetensorsBuilder builder;
  for (const auto& [name, tensor] : tensors) {
    std::string data(tensor.values.size() * sizeof(float), '\0');
    std::memcpy(data.data(), tensor.values.data(), data.size());
    builder.add(name, "F32", tensor.shape, data);
  }
  folder_.write("model.safetensors", builder.file());
  auto store = open_weights(folder_.path());
  SPINDRIFT_CHECK(store.ok(), "a file just written opens");
  store_ = std::move(store).value();
}

SmallDrafter::SmallDrafter(const dflash::Config& its_config)
    : SmallDrafter(its_config, random_dflash_tensors(its_config)) {}

SmallDrafter::SmallDrafter(const dflash::Config& its_config, const NamedTensors& its_tensors)
    : config(its_config),
      target(config.vocab, config.hidden, config.target_layers),
      tensors(its_tensors),
      drafter(config, must_load(tensors.store(), config), target) {}

MadeUpTaps::MadeUpTaps(const dflash::Config& config, int64_t positions, uint64_t seed)
    : hidden_(config.hidden) {
  for (int t = 0; t < config.taps(); ++t) {
    taps_.push_back(Noise(seed * 100 + static_cast<uint64_t>(t)).floats(positions * hidden_));
  }
}

void MadeUpTaps::change(Position position) {
  for (std::vector<float>& tap : taps_) tap[static_cast<size_t>(position * hidden_)] += 0.5F;
}

void MadeUpTaps::observe(const dflash::DFlashDrafter& drafter, DraftState& state, Position end,
                         int64_t chunk, const Exec& ex) const {
  Workspace ws;
  while (state.observed() < end) {
    const Position first = state.observed();
    const int64_t rows = std::min(chunk, end - first);
    const std::vector<TokenId> tokens(static_cast<size_t>(rows), 1);
    std::vector<ConstRows> taps;
    for (const std::vector<float>& tap : taps_) {
      taps.emplace_back(tap.data() + first * hidden_, rows, hidden_);
    }
    drafter.observe(state, {.first = first, .tokens = tokens, .taps = taps}, ws, ex);
  }
}

std::vector<std::byte> bytes_of(ConstRows rows) {
  std::vector<std::byte> bytes;
  for (int64_t r = 0; r < rows.rows(); ++r) {
    const auto row = std::as_bytes(rows.row(r));
    bytes.insert(bytes.end(), row.begin(), row.end());
  }
  return bytes;
}

std::vector<std::byte> context_bytes(const dflash::Config& config, DraftState& state) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < config.layers; ++i) {
    static_cast<dflash::State&>(state).cache(i).append_state(bytes);
  }
  return bytes;
}

}  // namespace spindrift::testing
