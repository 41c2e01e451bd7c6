#pragma once

#include <array>
#include <cmath>
#include <cstdint>

// The one summation order of the engine, with scalars: sixteen partial sums, folded by halves.
namespace spindrift::kernels {

using Lane16 = std::array<float, 16>;

// acc[k % 16] = fma(x[k], w(k), acc[k % 16]) for k ascending from 0.
template <class Weight>
void lane16_accumulate(const float* x, int64_t count, const Weight& w, Lane16& acc) {
  for (int64_t k = 0; k < count; ++k) {
    float& lane = acc[static_cast<size_t>(k % 16)];
    lane = std::fma(x[k], w(k), lane);
  }
}

// Adds the upper half to the lower, 16 -> 8 -> 4 -> 2 -> 1.
inline float lane16_fold(Lane16 acc) {
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) acc[i] += acc[i + half];
  }
  return acc[0];
}

}  // namespace spindrift::kernels
