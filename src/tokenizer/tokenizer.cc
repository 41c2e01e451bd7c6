#include "tokenizer/tokenizer.h"

#include <utility>

#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

class StringSink : public DecodeSink {
 public:
  explicit StringSink(std::string& out) : out_(out) {}
  void text(std::string_view part) override { out_ += part; }
  void end_token() override {}
  void finish() override {}

 private:
  std::string& out_;
};

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;

std::string_view Tokenizer::Parts::decoder_spelling(TokenId id) const {
  const AddedToken* token = added.find(id);
  return token != nullptr ? std::string_view(token->pattern) : vocabulary.spelling(id);
}

Status Tokenizer::Parts::encode_stretch(std::string_view stretch, bool at_origin,
                                        bool parse_special, Bpe::Scratch& scratch,
                                        std::vector<TokenId>& out) const {
  NormalizedText text{std::string(stretch), at_origin};
  SPINDRIFT_TRY_STATUS(normalize(normalizers, text));
  std::vector<AddedTokens::Stretch> stretches;
  if (parse_special) {
    added.cut(text.text, true, stretches);
  } else if (!text.text.empty()) {
    stretches.push_back({0, text.text.size(), kNoToken});
  }
  for (const auto& part : stretches) {
    if (part.id != kNoToken) {
      out.push_back(part.id);
      continue;
    }
    Pieces pieces;
    const bool whole = part.begin == 0 && part.end == text.text.size();
    pieces.at_origin = text.at_origin && part.begin == 0;
    pieces.text =
        whole ? std::move(text.text) : text.text.substr(part.begin, part.end - part.begin);
    pieces.spans.push_back({0, pieces.text.size()});
    for (const auto& stage : pre_tokenizers.stages) SPINDRIFT_TRY_STATUS(stage->apply(pieces));
    const std::string_view words = pieces.text;
    for (const Span& span : pieces.spans) {
      bpe.encode_word(vocabulary, words.substr(span.begin, span.end - span.begin), scratch, out);
    }
    if (whole) break;
  }
  return ok_status();
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxTextBytes) {
    return Error{ErrorCode::kLimit, "text to tokenize: expected at most " +
                                        std::to_string(kMaxTextBytes) + " bytes, found " +
                                        std::to_string(text.size())};
  }
  std::string repaired;
  if (!valid_utf8(text)) {
    append_lossy(text, true, repaired);
    text = repaired;
  }
  std::vector<TokenId> out;
  const PostProcessor& around = parts_->post_processor;
  if (options.add_special) out.insert(out.end(), around.before.begin(), around.before.end());
  std::vector<AddedTokens::Stretch> stretches;
  if (options.parse_special) {
    parts_->added.cut(text, false, stretches);
  } else if (!text.empty()) {
    stretches.push_back({0, text.size(), kNoToken});
  }
  Bpe::Scratch scratch;
  for (const auto& part : stretches) {
    if (part.id != kNoToken) {
      out.push_back(part.id);
    } else {
      SPINDRIFT_TRY_STATUS(parts_->encode_stretch(text.substr(part.begin, part.end - part.begin),
                                                  part.begin == 0, options.parse_special, scratch,
                                                  out));
    }
  }
  if (options.add_special) out.insert(out.end(), around.after.begin(), around.after.end());
  return out;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  TokenStream stream(*this, skip_special);
  std::string out;
  for (const TokenId id : ids) out += stream.push(id);
  return out + stream.finish();
}

bool Tokenizer::has(TokenId id) const {
  return parts_->added.find(id) != nullptr || parts_->vocabulary.has(id);
}

std::string_view Tokenizer::bytes(TokenId id) const {
  if (id < 0 || id >= parts_->vocab_size) return {};
  return parts_->bytes[static_cast<size_t>(id)];
}

std::string_view Tokenizer::spelling(TokenId id) const {
  const AddedToken* token = parts_->added.find(id);
  return token != nullptr ? std::string_view(token->content) : parts_->vocabulary.spelling(id);
}

std::optional<TokenId> Tokenizer::token_id(std::string_view spelling) const {
  TokenId id = parts_->added.id_of(spelling);
  if (id == kNoToken) id = parts_->vocabulary.find(spelling);
  return id == kNoToken ? std::nullopt : std::optional(id);
}

bool Tokenizer::is_special(TokenId id) const {
  return id >= 0 && id < parts_->vocab_size && parts_->special_by_id[static_cast<size_t>(id)] != 0;
}

bool Tokenizer::is_added(TokenId id) const { return parts_->added.find(id) != nullptr; }
TokenId Tokenizer::vocab_size() const { return parts_->vocab_size; }
std::span<const TokenId> Tokenizer::prefix_ids() const { return parts_->post_processor.before; }
std::span<const TokenId> Tokenizer::suffix_ids() const { return parts_->post_processor.after; }
std::string_view Tokenizer::bos_text() const { return parts_->bos_text; }
std::optional<TokenId> Tokenizer::bos_id() const { return parts_->bos_id; }
const SpecialTokens& Tokenizer::special_tokens() const { return parts_->special; }

struct TokenStream::Run {
  explicit Run(const DecoderChain& chain) : sink(out), stages(open_decoders(chain, sink)) {}

  std::string out;
  StringSink sink;
  std::vector<std::unique_ptr<DecodeSink>> stages;  // last stage first
};

TokenStream::TokenStream(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer),
      skip_special_(skip_special),
      run_(std::make_unique<Run>(tokenizer.parts_->decoders)) {}
TokenStream::~TokenStream() = default;
TokenStream::TokenStream(TokenStream&&) noexcept = default;
TokenStream& TokenStream::operator=(TokenStream&&) noexcept = default;

std::string TokenStream::push(TokenId id) {
  if (!tokenizer_->has(id) || (skip_special_ && tokenizer_->is_special(id))) return {};
  run_->stages.back()->text(tokenizer_->parts_->decoder_spelling(id));
  run_->stages.back()->end_token();
  return std::exchange(run_->out, {});
}

std::string TokenStream::finish() {
  run_->stages.back()->finish();
  std::string rest = std::exchange(run_->out, {});
  run_ = std::make_unique<Run>(tokenizer_->parts_->decoders);
  return rest;
}

}  // namespace spindrift
