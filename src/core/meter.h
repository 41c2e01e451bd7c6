#pragma once

#include <cstdint>

namespace spindrift {

// What forwards had to read and compute, added up for measurements; one thread at a time. Embedding
// rows, norms and biases are left out: they are thousandths of a layer.
struct Meter {
  int64_t weight_bytes = 0;  // of linear layers, once a product; of experts, those that were chosen
  int64_t context_bytes = 0;  // committed keys and values, each once an attention
  int64_t linear_multiply_adds = 0;
  int64_t attention_multiply_adds = 0;

  int64_t bytes() const { return weight_bytes + context_bytes; }
  // Floating-point operations: two a multiply-add.
  int64_t flop() const { return 2 * (linear_multiply_adds + attention_multiply_adds); }
};

}  // namespace spindrift
