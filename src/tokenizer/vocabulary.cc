#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  uint64_t hash = kOdd ^ bytes.size();
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word, 0xD6E8FEB86659FD93ULL);
  }
  uint64_t tail = 0;
  if (left > 0) std::memcpy(&tail, at, left);
  return mix(hash ^ tail, kOdd);
}

Result<Vocabulary> Vocabulary::build(std::vector<std::pair<std::string_view, int64_t>> entries,
                                     std::string_view where) {
  const auto fail = [&](ErrorCode code, std::string_view spelling, const std::string& what) {
    return Error{code, std::string(where) + "[" + in_quotes(spelling) + "]: " + what};
  };
  const int64_t limit =
      std::max<int64_t>(int64_t{1} << 20, 8 * static_cast<int64_t>(entries.size()));
  int64_t highest = -1;
  size_t bytes = 0;
  for (const auto& [spelling, id] : entries) {
    if (id < 0 || id >= limit) {
      return fail(ErrorCode::kInvalid, spelling,
                  "expected an id from 0 to " + std::to_string(limit - 1) + ", found " +
                      std::to_string(id));
    }
    highest = std::max(highest, id);
    bytes += spelling.size();
  }
  if (bytes > std::numeric_limits<int32_t>::max()) {
    return Error{ErrorCode::kLimit, std::string(where) + ": expected at most 2 GiB of spellings"};
  }

  Vocabulary out;
  out.count_ = static_cast<int64_t>(entries.size());
  out.tokens_.resize(static_cast<size_t>(highest + 1));
  out.slots_.resize(std::bit_ceil(std::max<size_t>(16, entries.size() * 2)));
  out.arena_.reserve(bytes);
  const size_t mask = out.slots_.size() - 1;
  for (const auto& [spelling, id] : entries) {
    Extent& token = out.tokens_[static_cast<size_t>(id)];
    if (token.bytes >= 0) {
      return fail(ErrorCode::kInvalid, spelling,
                  "id " + std::to_string(id) + " is already that of " +
                      in_quotes(out.spelling(static_cast<TokenId>(id))));
    }
    const uint64_t hash = hash_bytes(spelling);
    size_t at = hash & mask;
    for (; out.slots_[at].id != kNoToken; at = (at + 1) & mask) {
      if (out.spelling(out.slots_[at].id) == spelling) {
        return fail(ErrorCode::kInvalid, spelling, "expected each spelling once, found it twice");
      }
    }
    token = {static_cast<uint32_t>(out.arena_.size()), static_cast<int32_t>(spelling.size())};
    out.arena_.append(spelling);
    out.slots_[at] = {static_cast<uint32_t>(hash >> 32), static_cast<TokenId>(id)};
  }
  return out;
}

TokenId Vocabulary::find(std::string_view spelling) const {
  if (slots_.empty()) return kNoToken;
  const size_t mask = slots_.size() - 1;
  const uint64_t hash = hash_bytes(spelling);
  const auto tag = static_cast<uint32_t>(hash >> 32);
  for (size_t at = hash & mask; slots_[at].id != kNoToken; at = (at + 1) & mask) {
    if (slots_[at].tag != tag) continue;
    const Extent& token = tokens_[static_cast<size_t>(slots_[at].id)];
    if (std::string_view(arena_).substr(token.offset, static_cast<size_t>(token.bytes)) ==
        spelling) {
      return slots_[at].id;
    }
  }
  return kNoToken;
}

bool Vocabulary::has(TokenId id) const {
  return id >= 0 && id < end() && tokens_[static_cast<size_t>(id)].bytes >= 0;
}

std::string_view Vocabulary::spelling(TokenId id) const {
  if (!has(id)) return {};
  const Extent& token = tokens_[static_cast<size_t>(id)];
  return std::string_view(arena_).substr(token.offset, static_cast<size_t>(token.bytes));
}

}  // namespace spindrift
