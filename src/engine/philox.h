#pragma once

#include <array>
#include <cstdint>

namespace spindrift {

// Philox4x32 with 10 rounds (Salmon et al., SC 2011): four random words as a function of a counter
// and a key, no state. The published test vectors are in the unit test.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53U} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32U) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32U) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

// A uniform number in [0, 1) with 53 random bits, keyed by (seed, stream, position).
inline double uniform(uint64_t seed, uint32_t stream, uint64_t position) {
  const std::array<uint32_t, 4> words = philox4x32(
      {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32U), stream, 0},
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32U)});
  const uint64_t bits = (uint64_t{words[0]} << 32U) | words[1];
  return static_cast<double>(bits >> 11U) * 0x1.0p-53;
}

}  // namespace spindrift
