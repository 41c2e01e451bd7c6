#include "synth/fill.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "core/bf16.h"
#include "core/check.h"
#include "core/f16.h"
#include "core/f8e4m3.h"

namespace spindrift::synth {
namespace {

constexpr int kIndexBits = 12;
constexpr size_t kTableSize = size_t{1} << kIndexBits;
constexpr size_t kDrawsPerWord = 64 / kIndexBits;

uint64_t mix(uint64_t x) {  // splitmix64's finisher
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

uint64_t hash(std::string_view text) {  // FNV-1a
  uint64_t value = 0xcbf29ce484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return value;
}

// xoshiro256++ by Blackman and Vigna.
class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = seed = mix(seed);
  }
  uint64_t next() {
    const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // Evenly in [0, 1), a multiple of 2^-53.
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::array<uint64_t, 4> state_;
};

// Deviates with mean 0 and variance 1, half of them the others negated: sums of twelve uniform
// draws, which are bell-shaped without a logarithm.
const std::array<double, kTableSize>& normal_deviates() {
  static const std::array<double, kTableSize> deviates = [] {
    std::array<double, kTableSize> values{};
    Random random(0);
    for (size_t i = 0; i < kTableSize / 2; ++i) {
      double sum = -6.0;
      for (int draw = 0; draw < 12; ++draw) sum += random.unit();
      values[2 * i] = sum;
      values[2 * i + 1] = -sum;
    }
    return values;
  }();
  return deviates;
}

uint8_t nearest_e4m3(double value) {
  uint8_t best = 0;
  double distance = HUGE_VAL;
  for (uint8_t code = 0; code < 0x7f; ++code) {
    const double off = std::abs(static_cast<double>(f8e4m3_to_float(code)) - std::abs(value));
    if (off >= distance) break;  // codes ascend
    distance = off;
    best = code;
  }
  return static_cast<uint8_t>(value < 0 ? best | 0x80U : best);
}

uint32_t encode(DType dtype, double value) {
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::kF32:
      return std::bit_cast<uint32_t>(narrow);
    case DType::kBf16:
      return bf16_from_float(narrow);
    case DType::kF16:
      return f16_from_float(narrow);
    default:  // E4M3, which MLX stores as U8
      return nearest_e4m3(value);
  }
}

template <class T>
void draw(const std::vector<uint32_t>& table, Random& random, std::span<std::byte> out) {
  std::byte* at = out.data();
  const size_t count = out.size() / sizeof(T);
  for (size_t i = 0; i < count; i += kDrawsPerWord) {
    uint64_t bits = random.next();
    const size_t last = std::min(count, i + kDrawsPerWord);
    for (size_t j = i; j < last; ++j, bits >>= kIndexBits, at += sizeof(T)) {
      const auto element = static_cast<T>(table[bits & (kTableSize - 1)]);
      std::memcpy(at, &element, sizeof(T));
    }
  }
}

void draw_bits(Random& random, std::span<std::byte> out) {
  size_t at = 0;
  for (; at + sizeof(uint64_t) <= out.size(); at += sizeof(uint64_t)) {
    const uint64_t word = random.next();
    std::memcpy(out.data() + at, &word, sizeof(word));
  }
  const uint64_t word = random.next();
  if (at < out.size()) std::memcpy(out.data() + at, &word, out.size() - at);
}

}  // namespace

Filler::Key Filler::key(const PlannedTensor& tensor) {
  return {tensor.dtype, tensor.content.kind, tensor.content.center, tensor.content.spread};
}

Filler::Filler(uint64_t seed, std::span<const PlannedTensor> tensors) : seed_(seed) {
  for (const PlannedTensor& tensor : tensors) {
    const Content& content = tensor.content;
    if (content.kind != Content::Kind::kNormal && content.kind != Content::Kind::kUniform) continue;
    Table& table = tables_[key(tensor)];
    if (!table.empty()) continue;
    table.resize(kTableSize);
    for (size_t i = 0; i < kTableSize; ++i) {
      const double even = (2.0 * static_cast<double>(i) + 1.0) / kTableSize - 1.0;
      const double deviate = content.kind == Content::Kind::kNormal ? normal_deviates()[i] : even;
      table[i] = encode(tensor.dtype, content.center + content.spread * deviate);
    }
  }
}

void Filler::fill(const PlannedTensor& tensor, int64_t block, std::span<std::byte> out) const {
  const Content& content = tensor.content;
  if (content.kind == Content::Kind::kShape) {
    const std::array<int64_t, 2> numbers = {content.rows, content.columns};
    SPINDRIFT_CHECK(out.size() == sizeof(numbers), "a shape is two numbers");
    std::memcpy(out.data(), numbers.data(), sizeof(numbers));
    return;
  }
  const uint64_t stream = hash(content.follows.empty() ? tensor.name : content.follows);
  Random random(mix(seed_ ^ mix(stream)) + static_cast<uint64_t>(block));
  if (content.kind == Content::Kind::kCodes) {
    draw_bits(random, out);
    return;
  }
  const Table& table = tables_.at(key(tensor));
  switch (dtype_bytes(tensor.dtype)) {
    case 1:
      return draw<uint8_t>(table, random, out);
    case 2:
      return draw<uint16_t>(table, random, out);
    default:
      return draw<uint32_t>(table, random, out);
  }
}

}  // namespace spindrift::synth
