#include "tokenizer/decoder.h"

namespace spindrift {
namespace {

// All tokens become one.
class FuseSink : public DecodeSink {
 public:
  explicit FuseSink(DecodeSink& next) : next_(next) {}

  void text(std::string_view part) override { next_.text(part); }
  void end_token() override {}
  void finish() override {
    next_.end_token();
    next_.finish();
  }

 private:
  DecodeSink& next_;
};

class FuseDecoder : public DecoderStage {
 public:
  std::unique_ptr<DecodeSink> open(DecodeSink& next) const override {
    return std::make_unique<FuseSink>(next);
  }
};

}  // namespace

std::unique_ptr<DecoderStage> make_fuse_decoder() { return std::make_unique<FuseDecoder>(); }

}  // namespace spindrift
