#include "synth/checkpoint_plan.h"

namespace spindrift::synth {

int64_t PlannedTensor::bytes() const {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements * dtype_bytes(dtype);
}

int64_t CheckpointPlan::bytes() const {
  int64_t sum = 0;
  for (const PlannedTensor& tensor : tensors) sum += tensor.bytes();
  return sum;
}

bool always_written(const PlannedTensor& tensor) { return tensor.shape.size() < 2; }

}  // namespace spindrift::synth
