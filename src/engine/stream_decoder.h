#pragma once

#include <string>

#include "engine/stop_rule.h"
#include "tokenizer/tokenizer.h"

namespace spindrift {

// A tokenizer's stream as the engine's text decoder. The tokenizer must outlive it. Special tokens
// have no text.
class StreamDecoder final : public TextDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer) : stream_(tokenizer) {}
  std::string push(TokenId id) override { return stream_.push(id); }
  std::string finish() override { return stream_.finish(); }

 private:
  TokenStream stream_;
};

}  // namespace spindrift
