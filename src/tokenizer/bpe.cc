#include "tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr size_t kShortWord = 24;  // up to here scanning all pairs beats a heap

uint64_t pair_key(TokenId left, TokenId right) {
  return (uint64_t{static_cast<uint32_t>(left)} << 32) | static_cast<uint32_t>(right);
}

size_t pair_slot(uint64_t key, size_t mask) {
  const uint64_t hash = key * 0x9E3779B97F4A7C15ULL;
  return static_cast<size_t>(hash ^ (hash >> 32)) & mask;
}

std::string fallback_spelling(unsigned byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + '>';
}

}  // namespace

Result<Bpe> Bpe::build(const Vocabulary& vocabulary, const std::vector<MergeRule>& merges,
                       BpeOptions options, bool byte_level, std::string_view where) {
  Bpe out;
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string symbol;
    append_code_point(byte_to_symbol(static_cast<uint8_t>(byte)), symbol);
    out.byte_ids_[byte] = vocabulary.find(symbol);
    out.fallback_ids_[byte] = vocabulary.find(fallback_spelling(byte));
  }
  if (options.unk_token) {
    out.unk_ = vocabulary.find(*options.unk_token);
    const bool needless = byte_level && std::find(out.byte_ids_.begin(), out.byte_ids_.end(),
                                                  kNoToken) == out.byte_ids_.end();
    if (out.unk_ == kNoToken && !needless) {
      return Error{ErrorCode::kInvalid,
                   std::string(where) + ".unk_token: expected a token of the vocabulary, found " +
                       in_quotes(*options.unk_token)};
    }
  }
  out.table_.resize(std::bit_ceil(std::max<size_t>(16, merges.size() * 2)));
  const size_t mask = out.table_.size() - 1;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const uint64_t key = pair_key(merges[rank].left, merges[rank].right);
    size_t at = pair_slot(key, mask);
    while (out.table_[at].result != kNoToken && out.table_[at].pair != key) at = (at + 1) & mask;
    out.table_[at] = {key, static_cast<uint32_t>(rank),
                      merges[rank].result};  // the last of equal rules counts
  }
  out.decorated_ =
      !options.continuing_subword_prefix.empty() || !options.end_of_word_suffix.empty();
  out.byte_level_ = byte_level;
  out.options_ = std::move(options);
  return out;
}

const Bpe::Entry* Bpe::find(TokenId left, TokenId right) const {
  const uint64_t key = pair_key(left, right);
  const size_t mask = table_.size() - 1;
  for (size_t at = pair_slot(key, mask);; at = (at + 1) & mask) {
    if (table_[at].pair == key) return &table_[at];
    if (table_[at].result == kNoToken) return nullptr;
  }
}

void Bpe::split(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  symbols.clear();
  const auto add = [&](TokenId id) { symbols.push_back({id, 0, 0, true}); };
  TokenId pending =
      kNoToken;  // an unknown character not yet added, because the next one may fuse with it
  for (size_t pos = 0; pos < word.size();) {
    const size_t bytes = byte_level_ ? 1 : code_point_at(word, pos).bytes;
    TokenId id = kNoToken;
    std::string_view character = word.substr(pos, bytes);
    if (byte_level_ && !decorated_) {
      id = byte_ids_[static_cast<unsigned char>(word[pos])];
    } else {
      if (byte_level_ || decorated_) {
        auto& spelling = scratch.spelling;
        spelling.clear();
        if (pos > 0) spelling += options_.continuing_subword_prefix;
        if (byte_level_) {
          append_code_point(byte_to_symbol(static_cast<uint8_t>(word[pos])), spelling);
        } else {
          spelling += character;
        }
        if (pos + bytes == word.size()) spelling += options_.end_of_word_suffix;
        character = spelling;
      }
      id = vocabulary.find(character);
    }
    pos += bytes;
    if (id != kNoToken) {
      if (pending != kNoToken) add(pending);
      pending = kNoToken;
      add(id);
      continue;
    }
    if (options_.byte_fallback) {
      std::string symbol;
      if (byte_level_ && !decorated_) {
        append_code_point(byte_to_symbol(static_cast<uint8_t>(word[pos - 1])), symbol);
        character = symbol;
      }
      const bool all = std::all_of(character.begin(), character.end(), [&](char c) {
        return fallback_ids_[static_cast<unsigned char>(c)] != kNoToken;
      });
      if (all) {
        for (const char c : character) add(fallback_ids_[static_cast<unsigned char>(c)]);
        continue;
      }
    }
    if (unk_ == kNoToken) continue;
    if (pending != kNoToken && !options_.fuse_unk) add(pending);
    pending = unk_;
  }
  if (pending != kNoToken) add(pending);
}

void Bpe::merge_short(Scratch& scratch, std::vector<TokenId>& out) const {
  constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();
  std::array<TokenId, kShortWord> ids;
  std::array<uint32_t, kShortWord> ranks;  // of the pair (i, i + 1)
  std::array<TokenId, kShortWord> results;
  size_t count = scratch.symbols.size();
  const auto look = [&](size_t i) {
    const Entry* entry = i + 1 < count ? find(ids[i], ids[i + 1]) : nullptr;
    ranks[i] = entry != nullptr ? entry->rank : kNever;
    results[i] = entry != nullptr ? entry->result : kNoToken;
  };
  for (size_t i = 0; i < count; ++i) ids[i] = scratch.symbols[i].id;
  for (size_t i = 0; i < count; ++i) look(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == kNever) break;
    ids[best] = results[best];
    for (size_t i = best + 1; i + 1 < count; ++i) {
      ids[i] = ids[i + 1];
      ranks[i] = ranks[i + 1];
      results[i] = results[i + 1];
    }
    --count;
    look(best);
    if (best > 0) look(best - 1);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
}

void Bpe::merge_long(Scratch& scratch, std::vector<TokenId>& out) const {
  auto& symbols = scratch.symbols;
  auto& queue = scratch.queue;
  const auto count = static_cast<int32_t>(symbols.size());
  const auto later = [](const Scratch::Candidate& a, const Scratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  };
  const auto push = [&](int32_t at) {
    const auto& left = symbols[static_cast<size_t>(at)];
    const Entry* entry = find(left.id, symbols[static_cast<size_t>(left.next)].id);
    if (entry == nullptr) return;
    queue.push_back({entry->rank, at, entry->result});
    std::push_heap(queue.begin(), queue.end(), later);
  };
  queue.clear();
  for (int32_t i = 0; i < count; ++i) {
    symbols[static_cast<size_t>(i)].previous = i - 1;
    symbols[static_cast<size_t>(i)].next = i + 1 < count ? i + 1 : -1;
  }
  for (int32_t i = 0; i + 1 < count; ++i) push(i);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), later);
    const Scratch::Candidate top = queue.back();
    queue.pop_back();
    auto& left = symbols[static_cast<size_t>(top.at)];
    if (!left.alive || left.next < 0) continue;
    auto& right = symbols[static_cast<size_t>(left.next)];
    const Entry* entry = find(left.id, right.id);
    if (entry == nullptr || entry->result != top.result)
      continue;  // an entry that merges have overtaken
    left.id = top.result;
    left.next = right.next;
    right.alive = false;
    if (left.next >= 0) {
      symbols[static_cast<size_t>(left.next)].previous = top.at;
      push(top.at);
    }
    if (left.previous >= 0) push(left.previous);
  }
  for (const auto& symbol : symbols) {
    if (symbol.alive) out.push_back(symbol.id);
  }
}

void Bpe::encode_word(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch,
                      std::vector<TokenId>& out) const {
  if (options_.ignore_merges) {
    const TokenId whole = vocabulary.find(byte_level_ ? bytes_to_symbols(word) : std::string(word));
    if (whole != kNoToken) {
      out.push_back(whole);
      return;
    }
  }
  split(vocabulary, word, scratch);
  if (scratch.symbols.size() == 1) {
    out.push_back(scratch.symbols[0].id);
  } else if (scratch.symbols.size() <= kShortWord && options_.continuing_subword_prefix.empty()) {
    // Without a prefix a merge always lengthens the spelling, so a stale heap entry can never apply
    // and scanning for the minimum gives the same merges.
    merge_short(scratch, out);
  } else {
    merge_long(scratch, out);
  }
}

}  // namespace spindrift
