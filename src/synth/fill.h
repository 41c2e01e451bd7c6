#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "synth/checkpoint_plan.h"

namespace spindrift::synth {

// Makes the bytes of planned tensors. They are a function of the seed, the tensor's name and its
// content alone: neither threads nor the other tensors reach them, and no function of the C library
// does, so they are the same on every machine.
class Filler {
 public:
  // Tensors are filled in blocks of this many bytes, the last one shorter.
  static constexpr int64_t kBlockBytes = 1 << 20;

  // `tensors` are all that will be asked for.
  Filler(uint64_t seed, std::span<const PlannedTensor> tensors);

  static int64_t blocks(const PlannedTensor& tensor) {
    return (tensor.bytes() + kBlockBytes - 1) / kBlockBytes;
  }
  // Fills `out` with block `block`; `out` has the size of that block. From any thread.
  void fill(const PlannedTensor& tensor, int64_t block, std::span<std::byte> out) const;

 private:
  // Equally likely elements, encoded; indexed by random bits.
  using Table = std::vector<uint32_t>;
  using Key = std::tuple<DType, Content::Kind, double, double>;
  static Key key(const PlannedTensor& tensor);

  uint64_t seed_;
  std::map<Key, Table> tables_;
};

}  // namespace spindrift::synth
