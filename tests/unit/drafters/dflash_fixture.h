#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/rows.h"
#include "drafters/dflash/config.h"
#include "drafters/dflash/drafter.h"
#include "drafters/dflash/weights.h"
#include "io/weight_store.h"
#include "models/target_model.h"
#include "nn/linear.h"
#include "support/temp_dir.h"

namespace spindrift::testing {

// Numbers of a fixed sequence in [-1, 1).
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed * 2 + 1) {}
  float next();
  std::vector<float> floats(int64_t count, float scale = 1.0F, float offset = 0.0F);

 private:
  uint64_t state_;
};

// A target that can only lend its embedding and head. Row `changed_row` of every embedded block is
// moved a little, when it is not negative.
class LendingTarget final : public TargetModel {
 public:
  LendingTarget(int64_t vocab, int64_t hidden, int layers);
  const ModelInfo& info() const override { return info_; }
  std::unique_ptr<Sequence> open() const override;
  ForwardResult forward(std::span<const SeqRows> batch, const ForwardOptions& options,
                        Workspace& ws, const Exec& ex) const override;
  void embed(std::span<const TokenId> ids, Rows out) const override;
  void lm_head(ConstRows hidden, Rows logits, const Exec& ex) const override;

  int64_t changed_row = -1;

 private:
  ModelInfo info_;
  std::vector<float> table_;  // [vocab, hidden]
  std::unique_ptr<nn::Linear> head_;
};

// Tensors of a drafter by published name, float32.
struct NamedTensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};
using NamedTensors = std::map<std::string, NamedTensor>;

dflash::Config small_dflash_config(int layers = 2, Position window = 24, int block_size = 8);
// Random weights for a config, q, k and v fused.
NamedTensors random_dflash_tensors(const dflash::Config& config);
// The same weights with q, k and v apart.
NamedTensors split_qkv(const NamedTensors& fused, const dflash::Config& config);

// Tensors written to a file and opened again.
class StoredTensors {
 public:
  explicit StoredTensors(const NamedTensors& tensors);
  WeightStore& store() { return *store_; }

 private:
  TempDir folder_;
  std::unique_ptr<WeightStore> store_;
};

// A drafter with random weights, and its target.
struct SmallDrafter {
  explicit SmallDrafter(const dflash::Config& config = small_dflash_config());
  SmallDrafter(const dflash::Config& config, const NamedTensors& tensors);

  dflash::Config config;
  LendingTarget target;
  StoredTensors tensors;
  dflash::DFlashDrafter drafter;
};

// Taps of a made-up conversation: the same position has the same rows in every one of the same
// seed.
class MadeUpTaps {
 public:
  MadeUpTaps(const dflash::Config& config, int64_t positions, uint64_t seed);
  // Moves the rows of one position a little.
  void change(Position position);
  // Hands positions [state.observed(), end) to the drafter in pieces of at most `chunk` rows.
  void observe(const dflash::DFlashDrafter& drafter, DraftState& state, Position end, int64_t chunk,
               const Exec& ex) const;

 private:
  int64_t hidden_;
  std::vector<std::vector<float>> taps_;  // [tap][positions * hidden]
};

// Rows as bytes, for comparison bit by bit.
std::vector<std::byte> bytes_of(ConstRows rows);
// The keys and values that a drafter's next block can see.
std::vector<std::byte> context_bytes(const dflash::Config& config, DraftState& state);

}  // namespace spindrift::testing
