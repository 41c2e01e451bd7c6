#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "tokenizer/config_node.h"

namespace spindrift {

// Takes a sequence of tokens, each in one or more parts, and passes on what is certain whatever
// comes next. Decoders are defined on whole sequences; a stage holds back exactly what later tokens
// could still change, so feeding tokens one by one gives the text of feeding them all at once.
class DecodeSink {
 public:
  virtual ~DecodeSink() = default;
  virtual void text(std::string_view part) = 0;  // more of the current token
  virtual void end_token() = 0;
  virtual void finish() = 0;  // after the last token's end; nothing follows
};

class DecoderStage {
 public:
  virtual ~DecoderStage() = default;
  // A fresh run that writes to `next`, which must outlive it.
  virtual std::unique_ptr<DecodeSink> open(DecodeSink& next) const = 0;
  // What one token stands for on its own, as bytes (a stage that works across tokens leaves them as
  // they are).
  virtual std::string token_bytes(std::string token) const { return token; }
};

using DecoderChain = std::vector<std::unique_ptr<DecoderStage>>;

// From the value of "decoder" (null: tokens joined by spaces). Unknown types and keys are refused.
Result<DecoderChain> make_decoders(const ConfigNode* node);
// The whole chain ending in `sink`, last stage first; feed the last element. Never empty.
std::vector<std::unique_ptr<DecodeSink>> open_decoders(const DecoderChain& chain, DecodeSink& sink);

// The stages, one a file.
std::unique_ptr<DecoderStage> make_byte_level_decoder();
std::unique_ptr<DecoderStage> make_join_decoder();
std::unique_ptr<DecoderStage> make_byte_fallback_decoder();
std::unique_ptr<DecoderStage> make_fuse_decoder();
Result<std::unique_ptr<DecoderStage>> make_replace_decoder(const ConfigNode& node);
Result<std::unique_ptr<DecoderStage>> make_strip_decoder(const ConfigNode& node);
Result<std::unique_ptr<DecoderStage>> make_metaspace_decoder(const ConfigNode& node);

}  // namespace spindrift
