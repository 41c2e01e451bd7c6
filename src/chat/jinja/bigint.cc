#include "chat/jinja/bigint.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "chat/jinja/error.h"

namespace spindrift::jinja {
namespace {

using Limbs = std::vector<uint32_t>;

int compare_magnitude(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

Limbs add_magnitude(const Limbs& a, const Limbs& b) {
  Limbs out;
  out.reserve(std::max(a.size(), b.size()) + 1);
  uint64_t carry = 0;
  for (size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    carry += (i < a.size() ? a[i] : 0ULL) + (i < b.size() ? b[i] : 0ULL);
    out.push_back(static_cast<uint32_t>(carry));
    carry >>= 32;
  }
  return out;
}

Limbs subtract_magnitude(const Limbs& a, const Limbs& b) {  // a >= b
  Limbs out(a.size());
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t digit =
        static_cast<int64_t>(a[i]) - (i < b.size() ? static_cast<int64_t>(b[i]) : 0) - borrow;
    borrow = digit < 0 ? 1 : 0;
    if (digit < 0) digit += int64_t{1} << 32;
    out[i] = static_cast<uint32_t>(digit);
  }
  return out;
}

void strip(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}

uint32_t divide_small(Limbs& limbs, uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = limbs.size(); i-- > 0;) {
    remainder = (remainder << 32) | limbs[i];
    limbs[i] = static_cast<uint32_t>(remainder / divisor);
    remainder %= divisor;
  }
  strip(limbs);
  return static_cast<uint32_t>(remainder);
}

void multiply_add_small(Limbs& limbs, uint32_t factor, uint32_t addend) {
  uint64_t carry = addend;
  for (uint32_t& limb : limbs) {
    carry += static_cast<uint64_t>(limb) * factor;
    limb = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) limbs.push_back(static_cast<uint32_t>(carry));
}

size_t bit_length(const Limbs& limbs) {
  return limbs.empty()
             ? 0
             : 32 * (limbs.size() - 1) + static_cast<size_t>(std::bit_width(limbs.back()));
}

Limbs shift_left(const Limbs& limbs, size_t bits) {
  if (limbs.empty()) return {};
  Limbs out(bits / 32, 0U);
  const size_t shift = bits % 32;
  uint64_t carry = 0;
  for (uint32_t limb : limbs) {
    carry |= static_cast<uint64_t>(limb) << shift;
    out.push_back(static_cast<uint32_t>(carry));
    carry >>= 32;
  }
  if (carry != 0) out.push_back(static_cast<uint32_t>(carry));
  return out;
}

// Schoolbook long division, one bit at a time: the numbers are at most kMaxBits long and rarely
// this path's concern.
void divide_magnitude(const Limbs& a, const Limbs& b, Limbs* quotient, Limbs* remainder) {
  if (b.size() == 1) {
    *quotient = a;
    const uint32_t rest = divide_small(*quotient, b[0]);
    *remainder = rest == 0 ? Limbs{} : Limbs{rest};
    return;
  }
  quotient->assign(a.size(), 0U);
  remainder->clear();
  for (size_t bit = bit_length(a); bit-- > 0;) {
    *remainder = shift_left(*remainder, 1);
    if ((a[bit / 32] >> (bit % 32)) & 1U) {
      if (remainder->empty()) remainder->push_back(0);
      (*remainder)[0] |= 1U;
    }
    if (compare_magnitude(*remainder, b) >= 0) {
      *remainder = subtract_magnitude(*remainder, b);
      strip(*remainder);
      (*quotient)[bit / 32] |= 1U << (bit % 32);
    }
  }
  strip(*quotient);
}

// The nearest double of limbs * 2^exponent, ties to even; `sticky` = something non-zero lies below
// the last limb.
double round_to_double(const Limbs& limbs, int exponent, bool sticky) {
  const size_t bits = bit_length(limbs);
  if (bits == 0) return 0.0;
  const size_t drop = bits > 64 ? bits - 64 : 0;
  uint64_t top = 0;
  for (size_t i = 0; i < std::min<size_t>(bits, 64); ++i) {
    const size_t bit = bits - 1 - i;
    top = (top << 1) | ((limbs[bit / 32] >> (bit % 32)) & 1U);
  }
  for (size_t bit = 0; bit < drop && !sticky; ++bit)
    sticky = ((limbs[bit / 32] >> (bit % 32)) & 1U) != 0;
  int scale = exponent + static_cast<int>(drop);
  const auto width = static_cast<int>(std::bit_width(top));
  if (width > 53) {  // keep 53 bits and round by hand, so that ldexp is exact in the normal range
    const int cut = width - 53;
    const uint64_t rest = top & ((uint64_t{1} << cut) - 1);
    const uint64_t half = uint64_t{1} << (cut - 1);
    top >>= cut;
    if (rest > half || (rest == half && (sticky || (top & 1U)))) ++top;
    scale += cut;
  }
  return std::ldexp(static_cast<double>(top), scale);
}

}  // namespace

BigInt::BigInt(int64_t value) : negative_(value < 0) {
  uint64_t magnitude = negative_ ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  for (; magnitude != 0; magnitude >>= 32) limbs_.push_back(static_cast<uint32_t>(magnitude));
}

BigInt BigInt::from_limbs(bool negative, std::vector<uint32_t> limbs) {
  BigInt out;
  out.negative_ = negative;
  out.limbs_ = std::move(limbs);
  out.trim();
  return out;
}

BigInt BigInt::from_digits(std::string_view digits, uint32_t base) {
  BigInt out;
  bool negative = false;
  if (!digits.empty() && (digits[0] == '-' || digits[0] == '+')) {
    negative = digits[0] == '-';
    digits.remove_prefix(1);
  }
  if (digits.size() > kMaxBits) fail_limit("a number has too many digits");
  for (char c : digits) {
    const uint32_t digit = static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    multiply_add_small(out.limbs_, base, digit);
  }
  out.negative_ = negative;
  out.trim();
  return out;
}

BigInt BigInt::from_double_trunc(double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(std::trunc(value)), &exponent);
  if (exponent <= 0) return BigInt(0);
  BigInt out(static_cast<int64_t>(std::ldexp(fraction, 53)));
  if (exponent > 53)
    out.limbs_ = shift_left(out.limbs_, static_cast<size_t>(exponent - 53));
  else
    out = BigInt(static_cast<int64_t>(std::fabs(std::trunc(value))));
  out.negative_ = value < 0;
  out.trim();
  return out;
}

void BigInt::trim() {
  strip(limbs_);
  if (limbs_.empty()) negative_ = false;
  if (bits() > kMaxBits) fail_limit("a number in the template grew too large");
}

size_t BigInt::bits() const { return bit_length(limbs_); }

std::optional<int64_t> BigInt::to_int64() const {
  if (limbs_.size() > 2) return std::nullopt;
  uint64_t magnitude = 0;
  for (size_t i = limbs_.size(); i-- > 0;) magnitude = (magnitude << 32) | limbs_[i];
  constexpr uint64_t kLimit = uint64_t{1} << 63;
  if (negative_) {
    if (magnitude > kLimit) return std::nullopt;
    return static_cast<int64_t>(~magnitude + 1);
  }
  if (magnitude >= kLimit) return std::nullopt;
  return static_cast<int64_t>(magnitude);
}

double BigInt::to_double() const {
  const double magnitude = round_to_double(limbs_, 0, false);
  return negative_ ? -magnitude : magnitude;
}

std::string BigInt::to_string(uint32_t base) const {
  if (limbs_.empty()) return "0";
  uint32_t chunk = base;
  int digits_per_chunk = 1;
  while (chunk <= std::numeric_limits<uint32_t>::max() / base) {
    chunk *= base;
    ++digits_per_chunk;
  }
  std::string out;
  Limbs rest = limbs_;
  while (!rest.empty()) {
    uint32_t part = divide_small(rest, chunk);
    for (int i = 0; i < digits_per_chunk && (part != 0 || !rest.empty()); ++i) {
      out.push_back("0123456789abcdefghijklmnopqrstuvwxyz"[part % base]);
      part /= base;
    }
  }
  if (negative_) out.push_back('-');
  std::reverse(out.begin(), out.end());
  return out;
}

int compare(const BigInt& a, const BigInt& b) {
  if (a.negative_ != b.negative_) return a.negative_ ? -1 : 1;
  const int magnitude = compare_magnitude(a.limbs_, b.limbs_);
  return a.negative_ ? -magnitude : magnitude;
}

BigInt operator-(BigInt a) {
  if (!a.limbs_.empty()) a.negative_ = !a.negative_;
  return a;
}

BigInt operator+(const BigInt& a, const BigInt& b) {
  if (a.negative_ == b.negative_)
    return BigInt::from_limbs(a.negative_, add_magnitude(a.limbs_, b.limbs_));
  const int order = compare_magnitude(a.limbs_, b.limbs_);
  if (order == 0) return BigInt();
  if (order > 0) return BigInt::from_limbs(a.negative_, subtract_magnitude(a.limbs_, b.limbs_));
  return BigInt::from_limbs(b.negative_, subtract_magnitude(b.limbs_, a.limbs_));
}

BigInt operator-(const BigInt& a, const BigInt& b) { return a + (-BigInt(b)); }

BigInt operator*(const BigInt& a, const BigInt& b) {
  if (a.bits() + b.bits() > BigInt::kMaxBits + 1)
    fail_limit("a number in the template grew too large");
  Limbs out(a.limbs_.size() + b.limbs_.size(), 0U);
  for (size_t i = 0; i < a.limbs_.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < b.limbs_.size() || carry != 0; ++j) {
      carry += out[i + j];
      if (j < b.limbs_.size()) carry += static_cast<uint64_t>(a.limbs_[i]) * b.limbs_[j];
      out[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
  }
  return BigInt::from_limbs(a.negative_ != b.negative_, std::move(out));
}

void BigInt::divmod(const BigInt& a, const BigInt& b, BigInt* quotient, BigInt* remainder) {
  Limbs q;
  Limbs r;
  divide_magnitude(a.limbs_, b.limbs_, &q, &r);
  BigInt quo = from_limbs(a.negative_ != b.negative_, std::move(q));
  BigInt rem = from_limbs(a.negative_, std::move(r));
  if (!rem.zero() && a.negative_ != b.negative_) {
    quo = quo - BigInt(1);
    rem = rem + b;
  }
  *quotient = std::move(quo);
  *remainder = std::move(rem);
}

BigInt BigInt::pow(const BigInt& base, uint64_t exponent) {
  if (base.bits() > 1 && exponent > kMaxBits) fail_limit("a number in the template grew too large");
  BigInt out(1);
  BigInt square = base;
  for (uint64_t rest = exponent; rest != 0; rest >>= 1) {
    if (rest & 1U) out = out * square;
    if (rest > 1) square = square * square;
  }
  return out;
}

double BigInt::true_divide(const BigInt& a, const BigInt& b) {
  // 66 quotient bits are enough to round once: 53 kept, the rest and the remainder decide.
  const int shift = 66 - static_cast<int>(a.bits()) + static_cast<int>(b.bits());
  Limbs q;
  Limbs r;
  if (shift >= 0) {
    divide_magnitude(shift_left(a.limbs_, static_cast<size_t>(shift)), b.limbs_, &q, &r);
  } else {
    divide_magnitude(a.limbs_, shift_left(b.limbs_, static_cast<size_t>(-shift)), &q, &r);
  }
  const double magnitude = round_to_double(q, -shift, !r.empty());
  return a.negative_ != b.negative_ ? -magnitude : magnitude;
}

}  // namespace spindrift::jinja
