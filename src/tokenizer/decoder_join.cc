#include "tokenizer/decoder.h"

namespace spindrift {
namespace {

// What a tokenizer without a decoder does: a space between tokens.
class JoinSink : public DecodeSink {
 public:
  explicit JoinSink(DecodeSink& next) : next_(next) {}

  void text(std::string_view part) override {
    separate();
    next_.text(part);
  }
  void end_token() override {
    separate();  // an empty token counts too
    between_ = true;
  }
  void finish() override {
    next_.end_token();
    next_.finish();
  }

 private:
  void separate() {
    if (between_) next_.text(" ");
    between_ = false;
  }

  DecodeSink& next_;
  bool between_ = false;
};

class JoinDecoder : public DecoderStage {
 public:
  std::unique_ptr<DecodeSink> open(DecodeSink& next) const override {
    return std::make_unique<JoinSink>(next);
  }
};

}  // namespace

std::unique_ptr<DecoderStage> make_join_decoder() { return std::make_unique<JoinDecoder>(); }

}  // namespace spindrift
