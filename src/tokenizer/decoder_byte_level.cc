#include "tokenizer/byte_alphabet.h"
#include "tokenizer/decoder.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

// Tokens spelled in the ByteLevel alphabet become their bytes, other tokens their own UTF-8; all of
// it together is one token, with U+FFFD where it is no UTF-8.
class ByteLevelSink : public DecodeSink {
 public:
  explicit ByteLevelSink(DecodeSink& next) : next_(next) {}

  void text(std::string_view part) override { token_ += part; }
  void end_token() override {
    if (!symbols_to_bytes(token_, bytes_)) bytes_ += token_;
    token_.clear();
    flush(false);
  }
  void finish() override {
    flush(true);
    next_.end_token();
    next_.finish();
  }

 private:
  void flush(bool final) {
    std::string out;
    bytes_.erase(0, append_lossy(bytes_, final, out));
    if (!out.empty()) next_.text(out);
  }

  DecodeSink& next_;
  std::string token_, bytes_;
};

class ByteLevelDecoder : public DecoderStage {
 public:
  std::unique_ptr<DecodeSink> open(DecodeSink& next) const override {
    return std::make_unique<ByteLevelSink>(next);
  }
  std::string token_bytes(std::string token) const override {
    std::string bytes;
    return symbols_to_bytes(token, bytes) ? bytes : token;
  }
};

}  // namespace

std::unique_ptr<DecoderStage> make_byte_level_decoder() {
  return std::make_unique<ByteLevelDecoder>();
}

}  // namespace spindrift
