#include "tokenizer/decoder.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

// The replacement character becomes a space again; in the first token it vanishes when encoding may
// have put it there.
class MetaspaceDecoder : public DecoderStage {
 public:
  MetaspaceDecoder(std::string replacement, bool drop_first)
      : replacement_(std::move(replacement)), drop_first_(drop_first) {}

  std::unique_ptr<DecodeSink> open(DecodeSink& next) const override;
  std::string token_bytes(std::string token) const override { return convert(token, " "); }

  std::string convert(std::string_view token, std::string_view with) const {
    std::string out;
    for (size_t at = 0; at < token.size();) {
      const size_t found = std::min(token.find(replacement_, at), token.size());
      out += token.substr(at, found - at);
      if (found < token.size()) out += with;
      at = found + replacement_.size();
    }
    return out;
  }
  bool drop_first() const { return drop_first_; }

 private:
  std::string replacement_;
  bool drop_first_;
};

class MetaspaceSink : public DecodeSink {
 public:
  MetaspaceSink(const MetaspaceDecoder& decoder, DecodeSink& next)
      : decoder_(decoder), next_(next) {}

  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    next_.text(decoder_.convert(token_, first_ && decoder_.drop_first() ? "" : " "));
    next_.end_token();
    token_.clear();
    first_ = false;
  }
  void finish() override { next_.finish(); }

 private:
  const MetaspaceDecoder& decoder_;
  DecodeSink& next_;
  std::string token_;
  bool first_ = true;
};

std::unique_ptr<DecodeSink> MetaspaceDecoder::open(DecodeSink& next) const {
  return std::make_unique<MetaspaceSink>(*this, next);
}

}  // namespace

Result<std::unique_ptr<DecoderStage>> make_metaspace_decoder(const ConfigNode& node) {
  ConfigReader reader(node);
  reader.skip("type");
  reader.skip("str_rep");  // a copy of replacement
  reader.skip("split");    // of the pre-tokenizer only
  SPINDRIFT_TRY(std::string replacement, reader.string("replacement"));
  SPINDRIFT_TRY(const bool add_prefix_space, reader.boolean_or("add_prefix_space", true));
  SPINDRIFT_TRY(const auto scheme, reader.optional_string("prepend_scheme"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  if (replacement.empty() || code_point_at(replacement, 0).bytes != replacement.size()) {
    return Error{ErrorCode::kInvalid, node.where + ".replacement: expected one character, found " +
                                          in_quotes(replacement)};
  }
  const std::string name = scheme.value_or("always");
  if (name != "first" && name != "never" && name != "always") {
    return Error{ErrorCode::kUnsupported,
                 node.where + ".prepend_scheme: unknown scheme " + in_quotes(name)};
  }
  if (!add_prefix_space && name != "never") {
    return Error{ErrorCode::kInvalid,
                 node.where + ".add_prefix_space: expected agreement with prepend_scheme \"" +
                     name + "\", found false"};
  }
  return std::unique_ptr<DecoderStage>(
      std::make_unique<MetaspaceDecoder>(std::move(replacement), name != "never"));
}

}  // namespace spindrift
