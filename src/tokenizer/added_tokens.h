#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "tokenizer/config_node.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/vocabulary.h"

namespace spindrift {

struct AddedToken {
  std::string content;
  std::string pattern;       // what is searched: the content, normalised when the token says so
  bool single_word = false;  // only between characters that are not word characters
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // searched in the normalised text
  bool special = false;      // skipped by decode(skip_special)
};

// Tokens that are found in the text before anything else cuts it.
class AddedTokens {
 public:
  AddedTokens() = default;
  // From "added_tokens". As in the `tokenizers` package an id is the vocabulary's when the content
  // is in it, else the next free one in file order; the file's own "id" must agree with that.
  static Result<AddedTokens> build(const ConfigNode* node, const Vocabulary& vocabulary,
                                   const NormalizerChain& normalizers);

  const AddedToken* find(TokenId id) const;          // null when the id is no added token
  TokenId id_of(std::string_view content) const;     // kNoToken when none
  bool is_special(std::string_view spelling) const;  // by spelling, as the package decides it
  TokenId end() const { return end_; }               // highest id + 1
  const std::map<TokenId, AddedToken>& all() const { return by_id_; }

  // A stretch of text: an added token, or (id kNoToken) text between them. Matches are the longest
  // at the leftmost position; each stretch excludes what lstrip and rstrip took.
  struct Stretch {
    size_t begin = 0, end = 0;
    TokenId id = kNoToken;
  };
  // Cuts text at the tokens searched in normalised (or not normalised) text.
  void cut(std::string_view text, bool normalized, std::vector<Stretch>& out) const;
  bool empty(bool normalized) const {
    return (normalized ? normalized_ : plain_).nodes.size() <= 1;
  }

 private:
  // A byte trie: children of a node are linked through `sibling`.
  struct Trie {
    struct Node {
      uint32_t child = 0, sibling = 0;
      TokenId id = kNoToken;
      char byte = 0;
    };
    std::vector<Node> nodes = std::vector<Node>(1);
    std::vector<uint32_t> roots = std::vector<uint32_t>(256, 0);  // child of the root by first byte

    bool insert(std::string_view pattern, TokenId id);  // false: already there
    std::pair<size_t, TokenId> longest(std::string_view text, size_t pos) const;
  };

  std::map<TokenId, AddedToken> by_id_;
  std::unordered_map<std::string, TokenId> by_content_;
  std::unordered_map<std::string, bool> special_;
  Trie plain_, normalized_;
  TokenId end_ = 0;
};

}  // namespace spindrift
