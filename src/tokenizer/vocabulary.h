#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/types.h"

namespace spindrift {

inline constexpr TokenId kNoToken = -1;

// 64-bit hash of a byte string; the same in every process.
uint64_t hash_bytes(std::string_view bytes);

// The model's own tokens: spelling -> id and back. Ids may have holes.
class Vocabulary {
 public:
  Vocabulary() = default;
  // Refuses a duplicate spelling or id and an id outside 0 .. max(2^20, 8 * entries) - 1. `where`
  // names the place.
  static Result<Vocabulary> build(std::vector<std::pair<std::string_view, int64_t>> entries,
                                  std::string_view where);

  TokenId find(std::string_view spelling) const;  // kNoToken when absent
  std::string_view spelling(TokenId id) const;    // empty for a hole or an id outside
  bool has(TokenId id) const;
  int64_t count() const { return count_; }                              // tokens
  TokenId end() const { return static_cast<TokenId>(tokens_.size()); }  // highest id + 1

 private:
  struct Extent {
    uint32_t offset = 0;
    int32_t bytes = -1;  // negative: a hole
  };
  struct Slot {
    uint32_t tag = 0;  // high half of the hash
    TokenId id = kNoToken;
  };
  std::string arena_;
  std::vector<Extent> tokens_;  // by id
  std::vector<Slot> slots_;     // open addressing, a power of two
  int64_t count_ = 0;
};

}  // namespace spindrift
