#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spindrift::jinja {

// A whole number of any size with Python's rules: // and % round towards minus infinity. Results
// above kMaxBits throw TemplateError, so arithmetic in a template stays bounded.
class BigInt {
 public:
  static constexpr size_t kMaxBits = 16384;

  BigInt() = default;
  explicit BigInt(int64_t value);
  static BigInt from_limbs(bool negative, std::vector<uint32_t> limbs);
  // digits: optional sign, then at least one digit of the base, nothing else.
  static BigInt from_digits(std::string_view digits, uint32_t base = 10);
  static BigInt from_double_trunc(double value);  // value finite

  bool negative() const { return negative_; }
  bool zero() const { return limbs_.empty(); }
  const std::vector<uint32_t>& limbs() const { return limbs_; }
  std::optional<int64_t> to_int64() const;
  double to_double() const;                         // nearest even; infinite when out of range
  std::string to_string(uint32_t base = 10) const;  // lower-case digits
  size_t bits() const;

  friend int compare(const BigInt& a, const BigInt& b);
  friend BigInt operator-(BigInt a);
  friend BigInt operator+(const BigInt& a, const BigInt& b);
  friend BigInt operator-(const BigInt& a, const BigInt& b);
  friend BigInt operator*(const BigInt& a, const BigInt& b);
  // b is not zero.
  static void divmod(const BigInt& a, const BigInt& b, BigInt* quotient, BigInt* remainder);
  static BigInt pow(const BigInt& base, uint64_t exponent);
  // a / b as Python's true division: the nearest double of the exact quotient. b is not zero.
  static double true_divide(const BigInt& a, const BigInt& b);

 private:
  void trim();
  bool negative_ = false;
  std::vector<uint32_t> limbs_;  // little endian, no leading zeros; zero is empty
};

}  // namespace spindrift::jinja
