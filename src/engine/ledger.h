#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/types.h"

namespace spindrift {

// XXH3-64 of the bits of a row of float32 logits.
uint64_t hash_logits(std::span<const float> row);

// "index id hash\n": one generated token, counted from 0, and the hash of the row it was drawn
// from, 16 hex digits.
std::string ledger_line(int64_t index, TokenId id, uint64_t hash);

// The record of a run that two runs are compared by: equal digests mean equal tokens drawn from
// equal logits, bit for bit.
class Ledger {
 public:
  Ledger();
  ~Ledger();
  Ledger(Ledger&&) noexcept;
  Ledger& operator=(Ledger&&) noexcept;

  void add(TokenId id, uint64_t hash);
  // XXH3-128 over all lines so far, 32 hex digits.
  std::string digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace spindrift
