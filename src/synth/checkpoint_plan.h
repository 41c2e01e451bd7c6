#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace spindrift::synth {

// What the elements of a made-up tensor are.
struct Content {
  enum class Kind : uint8_t {
    kCodes,    // random bits: packed codes of any width
    kNormal,   // bell-shaped around `center`, standard deviation `spread`
    kUniform,  // evenly in center - spread .. center + spread
    kShape,    // of I64 tensors: the two numbers `rows`, `columns`
  };
  Kind kind = Kind::kCodes;
  double center = 0.0, spread = 0.0;
  int64_t rows = 0, columns = 0;
  // The tensor whose draws this one repeats (tied copies, biases that follow scales); empty = none.
  std::string follows = {};
};

struct PlannedTensor {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<int64_t> shape;
  Content content;
  int shard_group = 0;  // tensors of different groups never share a shard

  int64_t bytes() const;
};

struct TextFile {
  std::string name, text;
};

// A whole model folder: what each tensor is called and looks like, and the files beside them.
struct CheckpointPlan {
  enum class Container : uint8_t { kSafetensors, kTorchBin };
  Container container = Container::kSafetensors;
  std::vector<PlannedTensor> tensors;  // in the order in which shards take them up
  int64_t shard_bytes = 0;             // a shard holds no more, unless one tensor does
  std::string maker = "pt";            // `format` in the safetensors metadata
  std::vector<TextFile> texts;         // config.json first

  int64_t bytes() const;  // of all tensors
};

// Tensors that --sparse writes nevertheless, because loading reads them and zeros would be refused
// or would make every row the same: vectors and scalars.
bool always_written(const PlannedTensor& tensor);

}  // namespace spindrift::synth
