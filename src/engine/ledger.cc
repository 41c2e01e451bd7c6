#include "engine/ledger.h"

#include <xxhash.h>

#include "core/check.h"

namespace spindrift {
namespace {

std::string hex(uint64_t value) {
  std::string digits(16, '0');
  for (size_t i = 0; i < digits.size(); ++i)
    digits[i] = "0123456789abcdef"[(value >> (60U - 4U * i)) & 15U];
  return digits;
}

}  // namespace

struct Ledger::State {
  XXH3_state_t* hash = XXH3_createState();
  int64_t lines = 0;
  State() { SPINDRIFT_CHECK(hash != nullptr && XXH3_128bits_reset(hash) == XXH_OK, "XXH3 state"); }
  ~State() { XXH3_freeState(hash); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Ledger::Ledger() : state_(std::make_unique<State>()) {}
Ledger::~Ledger() = default;
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger& Ledger::operator=(Ledger&&) noexcept = default;

uint64_t hash_logits(std::span<const float> row) {
  return XXH3_64bits(row.data(), row.size_bytes());
}

std::string ledger_line(int64_t index, TokenId id, uint64_t hash) {
  return std::to_string(index) + ' ' + std::to_string(id) + ' ' + hex(hash) + '\n';
}

void Ledger::add(TokenId id, uint64_t hash) {
  const std::string line = ledger_line(state_->lines++, id, hash);
  XXH3_128bits_update(state_->hash, line.data(), line.size());
}

std::string Ledger::digest() const {
  const XXH128_hash_t h = XXH3_128bits_digest(state_->hash);
  return hex(h.high64) + hex(h.low64);
}

}  // namespace spindrift
