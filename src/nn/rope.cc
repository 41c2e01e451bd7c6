#include "nn/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/check.h"
#include "core/math.h"
#include "core/thread_pool.h"
#include "kernels/contract.h"
#include "nn/parallel.h"

namespace spindrift::nn {
namespace {

// theta^(2i / rotated) for i < rotated / 2, rounded to float32 as the reference holds it.
std::vector<float> position_periods(double theta, int64_t rotated) {
  std::vector<float> periods(static_cast<size_t>(rotated / 2));
  for (size_t i = 0; i < periods.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(rotated);
    periods[i] = static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
  }
  return periods;
}

}  // namespace

Rope Rope::plain(double theta, int64_t rotated) {
  SPINDRIFT_CHECK(rotated > 0 && rotated % 2 == 0, "features are rotated in pairs");
  Rope rope;
  rope.inv_freq = position_periods(theta, rotated);
  for (float& f : rope.inv_freq) f = 1.0F / f;
  return rope;
}

Rope Rope::yarn(double theta, int64_t rotated, const YarnRamp& ramp, double multiplier) {
  SPINDRIFT_CHECK(rotated > 0 && rotated % 2 == 0, "features are rotated in pairs");
  const auto dim = static_cast<double>(rotated);
  // The feature pair that turns `turns` times over the original context.
  const auto pair_of = [&](double turns) {
    return dim * std::log(ramp.original_context / (turns * 2.0 * std::numbers::pi)) /
           (2.0 * std::log(theta));
  };
  double low = pair_of(ramp.beta_fast), high = pair_of(ramp.beta_slow);
  if (ramp.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1.0);
  if (low == high) high += 0.001;

  Rope rope;
  rope.multiplier = static_cast<float>(multiplier);
  rope.inv_freq = position_periods(theta, rotated);
  for (size_t i = 0; i < rope.inv_freq.size(); ++i) {
    const float period = rope.inv_freq[i];
    const float place =
        (static_cast<float>(i) - static_cast<float>(low)) / static_cast<float>(high - low);
    const float kept = 1.0F - std::clamp(place, 0.0F, 1.0F);
    rope.inv_freq[i] = (1.0F / (static_cast<float>(ramp.factor) * period)) * (1.0F - kept) +
                       (1.0F / period) * kept;
  }
  return rope;
}

double yarn_derived_multiplier(double factor) {
  return factor <= 1.0 ? 1.0 : 0.1 * std::log(factor) + 1.0;
}

void rope_angles(const Rope& rope, std::span<const Position> positions, Rows cos, Rows sin) {
  SPINDRIFT_CHECK(cos.rows() == static_cast<int64_t>(positions.size()) && sin.rows() == cos.rows(),
                  "one row of angles a position");
  for (size_t r = 0; r < positions.size(); ++r) {
    const std::span<float> c = cos.row(static_cast<int64_t>(r)),
                           s = sin.row(static_cast<int64_t>(r));
    for (size_t i = 0; i < rope.inv_freq.size(); ++i) {
      const float angle = static_cast<float>(positions[r]) * rope.inv_freq[i];
      const math::SinCos value = math::sin_cos(angle);
      c[i] = value.cos * rope.multiplier;
      s[i] = value.sin * rope.multiplier;
    }
  }
}

void apply_rope(Rows x, int64_t head_dim, ConstRows cos, ConstRows sin, const Exec& ex) {
  SPINDRIFT_CHECK(x.cols() % head_dim == 0 && 2 * cos.cols() <= head_dim && cos.rows() == x.rows(),
                  "angles fit the heads");
  for_rows(ex, x.rows(), x.cols(), [&](int64_t first, int64_t last) {
    for (int64_t r = first; r < last; ++r) {
      for (int64_t at = 0; at < x.cols(); at += head_dim) {
        ex.kernels->rope(x.row(r).subspan(static_cast<size_t>(at), static_cast<size_t>(head_dim)),
                         cos.row(r), sin.row(r));
      }
    }
  });
}

}  // namespace spindrift::nn
