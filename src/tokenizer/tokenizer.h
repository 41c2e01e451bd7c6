#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/types.h"
#include "tokenizer/special_tokens.h"

namespace spindrift {

struct TokenizerFile;

struct EncodeOptions {
  bool add_special = false;   // what the post-processor adds, for most models the BOS token
  bool parse_special = true;  // false: the spelling of an added token is ordinary text
};

// A byte-pair tokenizer as tokenizer.json describes it: ids equal those of the `tokenizers`
// package. Const after load, safe to use from any number of threads.
//
// Not taken from the file: "truncation" and "padding" (lengths are the engine's business;
// transformers switches both off too) and offsets. Anything else that is unknown is refused by
// name.
class Tokenizer {
 public:
  // `path`: a model directory, or its tokenizer.json. tokenizer_config.json and
  // special_tokens_map.json beside it are read when they exist. Errors name file, key, what was
  // expected and what was found.
  static Result<std::shared_ptr<const Tokenizer>> load(const std::filesystem::path& path);
  // From the text of a tokenizer.json; `name` stands for the file in errors.
  static Result<std::shared_ptr<const Tokenizer>> parse(std::string_view json,
                                                        const std::string& name,
                                                        SpecialTokens special = {});

  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Text to ids. Bytes that are no UTF-8 count as U+FFFD, one for each maximal invalid part
  // (Python's errors='replace'). kLimit: over 1 GiB of text, or a regular expression of the file
  // that backtracks without end.
  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options = {}) const;
  // Ids to valid UTF-8: bytes that are none become U+FFFD. Ids outside the vocabulary stand for
  // nothing.
  std::string decode(std::span<const TokenId> ids, bool skip_special) const;

  // What one token stands for, as bytes; may begin or end inside a code point. Empty for an id that
  // is no token.
  std::string_view bytes(TokenId id) const;
  // The token as the vocabulary spells it (ByteLevel alphabet, "<0x0A>", "▁the").
  std::string_view spelling(TokenId id) const;
  std::optional<TokenId> token_id(std::string_view spelling) const;
  bool is_special(TokenId id) const;
  bool is_added(TokenId id) const;
  bool has(TokenId id) const;  // ids may have holes
  TokenId vocab_size() const;  // highest id + 1

  // What encode puts around a text with add_special.
  std::span<const TokenId> prefix_ids() const;
  std::span<const TokenId> suffix_ids() const;
  // The beginning-of-sequence token: the first prefix token, else tokenizer_config.json's
  // bos_token. A prompt that starts with bos_text gets no second one. Empty and nullopt when there
  // is none.
  std::string_view bos_text() const;
  std::optional<TokenId> bos_id() const;
  const SpecialTokens& special_tokens() const;

 private:
  friend class TokenStream;
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  static Result<std::shared_ptr<const Tokenizer>> assemble(TokenizerFile file,
                                                           SpecialTokens special);
  std::unique_ptr<const Parts> parts_;
};

// Text of tokens as they arrive: every piece is valid UTF-8, and the pieces of push and finish
// joined are exactly decode() of all ids. Holds back what later tokens could still change (half a
// code point, a run of byte tokens).
class TokenStream {
 public:
  // The tokenizer must outlive the stream.
  explicit TokenStream(const Tokenizer& tokenizer, bool skip_special = true);
  ~TokenStream();
  TokenStream(TokenStream&&) noexcept;
  TokenStream& operator=(TokenStream&&) noexcept;

  std::string push(TokenId id);
  std::string finish();  // what was held back; the stream then starts anew

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  struct Run;
  std::unique_ptr<Run> run_;
};

}  // namespace spindrift
