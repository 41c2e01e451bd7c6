#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/types.h"
#include "tokenizer/vocabulary.h"

namespace spindrift {

// Two neighbouring tokens become one; its rank is its index in the file, lower first.
struct MergeRule {
  TokenId left, right, result;
};

struct BpeOptions {
  std::optional<std::string> unk_token = {};
  std::string continuing_subword_prefix = {};  // of every character but a word's first
  std::string end_of_word_suffix = {};         // of a word's last character
  bool fuse_unk = false;
  bool byte_fallback =
      false;  // an unknown character becomes its bytes' tokens "<0xHH>" when all of them exist
  bool ignore_merges = false;  // a word that is a token is that token, whatever the merges say
};

// Byte-pair encoding of single words: the lowest-ranked pair first, the leftmost of equals, until
// none is left.
class Bpe {
 public:
  // Reused between words so that encoding does not allocate; one per thread.
  struct Scratch {
    struct Symbol {
      TokenId id;
      int32_t previous, next;  // indices, -1 at the ends
      bool alive;
    };
    struct Candidate {
      uint32_t rank;
      int32_t at;
      TokenId result;
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> queue;
    std::string spelling;
  };

  Bpe() = default;
  // byte_level: words arrive as raw bytes and each byte is one character of the ByteLevel alphabet;
  // otherwise words are valid UTF-8 and a code point is one character.
  static Result<Bpe> build(const Vocabulary& vocabulary, const std::vector<MergeRule>& merges,
                           BpeOptions options, bool byte_level, std::string_view where);

  // Appends the ids of one non-empty word. A character that is neither known nor replaceable
  // vanishes, as in the `tokenizers` package. O(n log n) in the word's length.
  void encode_word(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch,
                   std::vector<TokenId>& out) const;

 private:
  struct Entry {
    uint64_t pair = ~uint64_t{0};
    uint32_t rank = 0;
    TokenId result = kNoToken;
  };
  const Entry* find(TokenId left, TokenId right) const;
  void split(const Vocabulary& vocabulary, std::string_view word, Scratch& scratch) const;
  void merge_short(Scratch& scratch, std::vector<TokenId>& out) const;
  void merge_long(Scratch& scratch, std::vector<TokenId>& out) const;

  BpeOptions options_;
  bool byte_level_ = false;
  bool decorated_ = false;  // characters carry a prefix or suffix
  TokenId unk_ = kNoToken;
  std::array<TokenId, 256> byte_ids_{};      // by byte, of the ByteLevel alphabet
  std::array<TokenId, 256> fallback_ids_{};  // by byte, of "<0xHH>"
  std::vector<Entry> table_;                 // open addressing, a power of two
};

}  // namespace spindrift
