#include "nn/rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/check.h"
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

struct SinCos {
  double sin, cos;
};

// (-1)^k / (2k + odd)! for k < 9: far below a double's last bit on |x| <= pi / 4.
constexpr std::array<double, 9> series(int odd) {
  std::array<double, 9> coefficients{};
  double factorial = 1.0;
  for (int k = 0; k < 9; ++k) {
    const int n = 2 * k + odd;
    if (n > 1) factorial *= static_cast<double>(n) * (n - 1);
    coefficients[static_cast<size_t>(k)] = (k % 2 == 0 ? 1.0 : -1.0) / factorial;
  }
  return coefficients;
}
constexpr std::array<double, 9> kSine = series(1);
constexpr std::array<double, 9> kCosine = series(0);

double polynomial(const std::array<double, 9>& coefficients, double x) {
  double sum = 0.0;
  for (size_t k = coefficients.size(); k-- > 0;) sum = sum * x + coefficients[k];
  return sum;
}

// Sine and cosine from additions and multiplications alone, so that the same angle has the same
// bits on every machine and C library. |angle| < 2^21 * pi / 2: the quadrant times the first two
// parts of pi / 2 is then exact.
SinCos sin_cos(double angle) {
  constexpr double kHalfPi1 = 0x1.921FB544p+0;  // pi / 2 in parts of 31, 31 and 53 bits
  constexpr double kHalfPi2 = 0x1.0B4611A4p-34;
  constexpr double kHalfPi3 = 0x1.13198A2E03707p-65;
  const double quadrant = std::nearbyint(angle * (2.0 / std::numbers::pi));
  const double x = ((angle - quadrant * kHalfPi1) - quadrant * kHalfPi2) - quadrant * kHalfPi3;
  const double s = polynomial(kSine, x * x) * x;
  const double c = polynomial(kCosine, x * x);
  switch (static_cast<int64_t>(quadrant) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
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
      const SinCos value = sin_cos(static_cast<double>(angle));
      c[i] = static_cast<float>(value.cos) * rope.multiplier;
      s[i] = static_cast<float>(value.sin) * rope.multiplier;
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
