#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace spindrift::testing {

// A tensor of a checkpoint under construction; dtype in safetensors' spelling.
struct TinyTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string data;
};

// A checkpoint in memory, to be changed by a test and then written: config values as JSON text.
struct TinyCheckpoint {
  std::map<std::string, std::string> config;
  std::map<std::string, TinyTensor> tensors;

  // config.json and model.safetensors in `folder`, which exists.
  void write(const std::filesystem::path& folder) const;
};

enum class TinyFormat : uint8_t {
  kF32,
  kBf16,
  kF16,
  kNvfp4,
  kFp8,  // blocks of 128 x 128
  kInt4,
  kInt8,
  kAffine4,
  kAffine8,
  kMlxNvfp4,
};
inline constexpr TinyFormat kTinyFormats[] = {
    TinyFormat::kF32,     TinyFormat::kBf16,    TinyFormat::kF16,  TinyFormat::kNvfp4,
    TinyFormat::kFp8,     TinyFormat::kInt4,    TinyFormat::kInt8, TinyFormat::kAffine4,
    TinyFormat::kAffine8, TinyFormat::kMlxNvfp4};

// The shape of a Laguna target with random weights, published names and layout. The default has
// both layer types, both kinds of MLP and different head counts.
struct TinyLaguna {
  int64_t vocab = 61;
  int64_t hidden = 32;
  int64_t intermediate = 48;
  int64_t kv_heads = 2;
  int64_t head_dim = 16;
  int64_t window = 12;
  int64_t experts = 5;
  int64_t top_k = 2;
  int64_t expert_inner = 16;
  int64_t shared_inner = 32;
  std::vector<int64_t> heads = {2, 6, 4};
  std::vector<bool> sliding = {false, true, false};
  std::vector<bool> sparse = {false, true, true};
  bool per_element_gate = false;
  bool sinks = false;
  bool tied = false;
  TinyFormat format = TinyFormat::kBf16;         // of every linear layer but
  TinyFormat expert_format = TinyFormat::kBf16;  // those of experts and shared experts
  uint64_t seed = 1;
};

TinyCheckpoint tiny_laguna(const TinyLaguna& shape);

// One linear layer's tensors under `name`, random, [out, in]. Groups of int and affine are of 32
// columns; `in` is a multiple of the format's group.
void add_tiny_linear(TinyCheckpoint& checkpoint, const std::string& name, int64_t out, int64_t in,
                     TinyFormat format, uint64_t seed);

}  // namespace spindrift::testing
