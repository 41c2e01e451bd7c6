#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/exec.h"
#include "core/rows.h"
#include "core/types.h"

namespace spindrift::nn {

// YaRN's frequency ramp (paper: arXiv 2309.00071); the multiplier is a separate, final number
// (Rope::multiplier).
struct YarnRamp {
  double factor = 1.0;
  double original_context = 0.0;
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  bool truncate = true;
};

// Rotary embedding of the first 2 * inv_freq.size() features of a head, rotate-half. cos and sin
// are both multiplied by `multiplier` (YaRN's attention_factor as the final value).
struct Rope {
  std::vector<float> inv_freq;
  float multiplier = 1.0F;

  static Rope plain(double theta, int64_t rotated);
  static Rope yarn(double theta, int64_t rotated, const YarnRamp& ramp, double multiplier);
};

// 0.1 * ln(factor) + 1, the multiplier YaRN derives when a config gives none.
double yarn_derived_multiplier(double factor);

// cos, sin: [positions, rotated / 2] = multiplier * cos(position * inv_freq), the angle rounded to
// float32 first as the reference does.
void rope_angles(const Rope& rope, std::span<const Position> positions, Rows cos, Rows sin);

// Rotates every head of every row in place. x: [rows, heads * head_dim]; cos, sin: [rows, rotated /
// 2].
void apply_rope(Rows x, int64_t head_dim, ConstRows cos, ConstRows sin, const Exec& ex);

}  // namespace spindrift::nn
