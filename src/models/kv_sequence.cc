#include "models/kv_sequence.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace spindrift {
namespace {

// One block of every layer.
class LayerBlocks final : public SharedBlock {
 public:
  struct Layer {
    std::shared_ptr<nn::KvBlock> block;  // null when it was let go of
    int64_t bytes = 0;
    bool windowed = false;
  };

  explicit LayerBlocks(std::vector<Layer> layers) : layers_(std::move(layers)) {
    for (const Layer& layer : layers_)
      if (layer.block != nullptr) ++layer.block->keepers;
  }
  ~LayerBlocks() override {
    for (Layer& layer : layers_) release(layer);
  }
  LayerBlocks(const LayerBlocks&) = delete;
  LayerBlocks& operator=(const LayerBlocks&) = delete;

  int64_t bytes() const override {
    int64_t sum = 0;
    for (const Layer& layer : layers_) sum += layer.block != nullptr ? layer.bytes : 0;
    return sum;
  }
  bool whole() const override {
    return std::all_of(layers_.begin(), layers_.end(),
                       [](const Layer& layer) { return layer.block != nullptr; });
  }
  void thin() override {
    for (Layer& layer : layers_)
      if (layer.windowed) release(layer);
  }
  int64_t thin_bytes() const override {
    int64_t sum = 0;
    for (const Layer& layer : layers_) sum += layer.windowed ? 0 : layer.bytes;
    return sum;
  }
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  static void release(Layer& layer) {
    if (layer.block != nullptr) --layer.block->keepers;
    layer.block.reset();
  }

  std::vector<Layer> layers_;
};

}  // namespace

KvSequence::KvSequence(std::span<const nn::KvShape> shapes) {
  SPINDRIFT_CHECK(!shapes.empty(), "a model has layers");
  caches_.reserve(shapes.size());
  for (const nn::KvShape& shape : shapes) caches_.emplace_back(shape);
}

Position KvSequence::committed() const { return caches_.front().committed(); }

void KvSequence::commit(std::span<const RowIndex> path) {
  for (nn::KvCache& cache : caches_) cache.commit(path);
}

Status KvSequence::truncate(Position n) {
  // All layers or none: the first pass changes nothing when one of them cannot go back.
  for (const nn::KvCache& cache : caches_) SPINDRIFT_TRY_STATUS(cache.can_truncate(n));
  for (nn::KvCache& cache : caches_) SPINDRIFT_TRY_STATUS(cache.truncate(n));
  return ok_status();
}

int64_t KvSequence::kv_bytes() const {
  int64_t bytes = 0;
  for (const nn::KvCache& cache : caches_) bytes += cache.bytes();
  return bytes;
}

std::unique_ptr<SharedBlock> KvSequence::share(int64_t index) const {
  std::vector<LayerBlocks::Layer> layers;
  layers.reserve(caches_.size());
  for (const nn::KvCache& cache : caches_)
    layers.push_back({.block = cache.block(index),
                      .bytes = cache.block_bytes(),
                      .windowed = cache.shape().window > 0});
  return std::make_unique<LayerBlocks>(std::move(layers));
}

void KvSequence::append(const SharedBlock& block) {
  const std::vector<LayerBlocks::Layer>& layers = static_cast<const LayerBlocks&>(block).layers();
  SPINDRIFT_CHECK(layers.size() == caches_.size(), "blocks of the same target");
  for (size_t i = 0; i < caches_.size(); ++i) caches_[i].append(layers[i].block);
}

Position KvSequence::windowed_from(Position n) const {
  Position first = n;
  for (const nn::KvCache& cache : caches_)
    if (cache.shape().window > 0) first = std::min(first, cache.oldest_seen(n));
  return first;
}

void KvSequence::keep_from(Position first) {
  for (nn::KvCache& cache : caches_) cache.keep_from(first);
}

int64_t KvSequence::bytes_at(Position n) const {
  int64_t bytes = 0;
  for (const nn::KvCache& cache : caches_) bytes += cache.bytes_at(n);
  return bytes;
}

std::vector<std::byte> KvSequence::state_bytes() const {
  std::vector<std::byte> state;
  for (const nn::KvCache& cache : caches_) cache.append_state(state);
  return state;
}

}  // namespace spindrift
