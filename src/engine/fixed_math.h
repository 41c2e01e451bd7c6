#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace spindrift {

// exp and log in one fixed double formula each, so that a drawn token does not depend on which libm
// is installed. Plain multiply and add, no fusion.

// e^x for x <= 0, to about 1e-16 relative; below -708 the result is 0. exp(0) is exactly 1.
inline double fixed_exp(double x) {
  if (!(x > -708.0)) return 0.0;
  const double n = std::floor(x * 1.4426950408889634 + 0.5);
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double sum = 1.0 / 6227020800.0;  // the Taylor series to r^13; |r| <= ln(2) / 2
  constexpr double kInverseFactorial[] = {1.0 / 479001600.0,
                                          1.0 / 39916800.0,
                                          1.0 / 3628800.0,
                                          1.0 / 362880.0,
                                          1.0 / 40320.0,
                                          1.0 / 5040.0,
                                          1.0 / 720.0,
                                          1.0 / 120.0,
                                          1.0 / 24.0,
                                          1.0 / 6.0,
                                          0.5,
                                          1.0,
                                          1.0};
  for (const double c : kInverseFactorial) sum = sum * r + c;
  const auto exponent = static_cast<uint64_t>(static_cast<int64_t>(n) + 1023);
  return sum * std::bit_cast<double>(exponent << 52U);
}

// The natural logarithm of a positive normal number, to about 1e-16 relative to max(1, |log x|).
inline double fixed_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int64_t>(bits >> 52U) - 1023;
  double m = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFU) | 0x3FF0000000000000U);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);  // log m = 2 (s + s^3/3 + s^5/5 + ...), |s| < 0.172
  const double s2 = s * s;
  double sum = 1.0 / 23.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * s2 + 1.0 / static_cast<double>(k);
  const auto e = static_cast<double>(exponent);
  return e * 6.93147180369123816490e-01 + (2.0 * s * sum + e * 1.90821492927058770002e-10);
}

}  // namespace spindrift
