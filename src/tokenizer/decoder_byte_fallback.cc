#include <optional>

#include "tokenizer/decoder.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The byte that "<0xHH>" names. A sign in place of the first digit is accepted, as the package's
// number parser does.
std::optional<char> named_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const int high = token[3] == '+' ? 0 : hex_digit(token[3]);
  const int low = hex_digit(token[4]);
  if (high < 0 || low < 0) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// A run of "<0xHH>" tokens becomes the text its bytes spell, or one U+FFFD a byte when they spell
// none: only the end of the run tells.
class ByteFallbackSink : public DecodeSink {
 public:
  explicit ByteFallbackSink(DecodeSink& next) : next_(next) {}

  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    if (const auto byte = named_byte(token_)) {
      run_ += *byte;
    } else {
      flush();
      next_.text(token_);
      next_.end_token();
    }
    token_.clear();
  }
  void finish() override {
    flush();
    next_.finish();
  }

 private:
  void flush() {
    if (run_.empty()) return;
    if (valid_utf8(run_)) {
      next_.text(run_);
      next_.end_token();
    } else {
      for (size_t i = 0; i < run_.size(); ++i) {
        next_.text("\xEF\xBF\xBD");
        next_.end_token();
      }
    }
    run_.clear();
  }

  DecodeSink& next_;
  std::string token_, run_;
};

class ByteFallbackDecoder : public DecoderStage {
 public:
  std::unique_ptr<DecodeSink> open(DecodeSink& next) const override {
    return std::make_unique<ByteFallbackSink>(next);
  }
  std::string token_bytes(std::string token) const override {
    const auto byte = named_byte(token);
    return byte ? std::string(1, *byte) : token;
  }
};

}  // namespace

std::unique_ptr<DecoderStage> make_byte_fallback_decoder() {
  return std::make_unique<ByteFallbackDecoder>();
}

}  // namespace spindrift
