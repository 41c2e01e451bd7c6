#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/target_model.h"
#include "nn/kv_cache.h"

namespace spindrift {

// A conversation of a target whose only state is one key-value cache a layer.
class KvSequence final : public Sequence {
 public:
  // One shape a layer; at least one.
  explicit KvSequence(std::span<const nn::KvShape> shapes);

  nn::KvCache& cache(size_t layer) { return caches_[layer]; }

  Position committed() const override;
  void commit(std::span<const RowIndex> path) override;
  Status truncate(Position n) override;
  int64_t kv_bytes() const override;
  Position block_positions() const override { return nn::KvCache::kBlockPositions; }
  std::unique_ptr<SharedBlock> share(int64_t index) const override;
  void append(const SharedBlock& block) override;
  Position windowed_from(Position n) const override;
  void keep_from(Position first) override;
  int64_t bytes_at(Position n) const override;
  std::vector<std::byte> state_bytes() const override;

 private:
  std::vector<nn::KvCache> caches_;
};

}  // namespace spindrift
