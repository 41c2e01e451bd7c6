#include "tokenizer/decoder.h"
#include "tokenizer/pattern.h"

namespace spindrift {
namespace {

class ReplaceDecoder : public DecoderStage {
 public:
  ReplaceDecoder(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  std::unique_ptr<DecodeSink> open(DecodeSink& next) const override;

  std::string token_bytes(std::string token) const override {
    std::vector<Span> matches;
    if (token.empty() || !pattern_->find_all(token, matches).ok()) return token;
    std::string out;
    size_t done = 0;
    for (const Span& match : matches) {
      out.append(token, done, match.begin - done);
      out += content_;
      done = match.end;
    }
    out.append(token, done);
    return out;
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

// Waits for a token's end: a match may span its parts.
class ReplaceSink : public DecodeSink {
 public:
  ReplaceSink(const ReplaceDecoder& decoder, DecodeSink& next) : decoder_(decoder), next_(next) {}

  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    next_.text(decoder_.token_bytes(std::move(token_)));
    next_.end_token();
    token_.clear();
  }
  void finish() override { next_.finish(); }

 private:
  const ReplaceDecoder& decoder_;
  DecodeSink& next_;
  std::string token_;
};

std::unique_ptr<DecodeSink> ReplaceDecoder::open(DecodeSink& next) const {
  return std::make_unique<ReplaceSink>(*this, next);
}

}  // namespace

Result<std::unique_ptr<DecoderStage>> make_replace_decoder(const ConfigNode& node) {
  ConfigReader reader(node);
  reader.skip("type");
  SPINDRIFT_TRY(const ConfigNode* pattern_node, reader.object("pattern"));
  SPINDRIFT_TRY(auto pattern, make_pattern(*pattern_node));
  SPINDRIFT_TRY(std::string content, reader.string("content"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  return std::unique_ptr<DecoderStage>(
      std::make_unique<ReplaceDecoder>(std::move(pattern), std::move(content)));
}

}  // namespace spindrift
