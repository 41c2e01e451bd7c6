#pragma once

#include <string>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe.h"
#include "tokenizer/decoder.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace spindrift {

// What a Tokenizer consists of, in the order a text meets it.
struct Tokenizer::Parts {
  AddedTokens added;
  NormalizerChain normalizers;
  PreTokenizerChain pre_tokenizers;
  Vocabulary vocabulary;
  Bpe bpe;
  PostProcessor post_processor;
  DecoderChain decoders;
  SpecialTokens special;
  TokenId vocab_size = 0;
  std::vector<std::string> bytes;      // by id
  std::vector<uint8_t> special_by_id;  // by id
  std::string bos_text;
  std::optional<TokenId> bos_id;

  // The spelling a decoder sees: an added token's pattern or content, else the vocabulary's.
  std::string_view decoder_spelling(TokenId id) const;

  // Normalises, cuts and encodes a stretch of valid UTF-8 between the added tokens that the raw
  // text has.
  Status encode_stretch(std::string_view stretch, bool at_origin, bool parse_special,
                        Bpe::Scratch& scratch, std::vector<TokenId>& out) const;
};

}  // namespace spindrift
