#include "tokenizer/decoder.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

// Takes up to `start` leading and `stop` trailing copies of one character off every token.
class StripSink : public DecodeSink {
 public:
  StripSink(const std::string& content, int64_t start, int64_t stop, DecodeSink& next)
      : content_(content), start_(start), stop_(stop), left_(start), next_(next) {}

  void text(std::string_view part) override {
    held_ += part;
    while (left_ > 0 && held_.starts_with(content_)) {
      held_.erase(0, content_.size());
      --left_;
    }
    if (left_ > 0 && content_.starts_with(held_)) return;  // more may follow
    left_ = 0;
    release(held_.size() - trailing(stop_) * content_.size());
  }
  void end_token() override {
    release(held_.size() - trailing(stop_) * content_.size());
    held_.clear();
    left_ = start_;
    next_.end_token();
  }
  void finish() override { next_.finish(); }

 private:
  // Copies of the character at the end of what is held, at most `most`.
  size_t trailing(int64_t most) const {
    size_t count = 0;
    std::string_view rest = held_;
    while (static_cast<int64_t>(count) < most && rest.ends_with(content_)) {
      rest.remove_suffix(content_.size());
      ++count;
    }
    return count;
  }
  void release(size_t bytes) {
    if (bytes == 0) return;
    next_.text(std::string_view(held_).substr(0, bytes));
    held_.erase(0, bytes);
  }

  const std::string& content_;
  int64_t start_, stop_;
  int64_t left_;  // leading copies that may still be taken
  DecodeSink& next_;
  std::string held_;
};

class StripDecoder : public DecoderStage {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  std::unique_ptr<DecodeSink> open(DecodeSink& next) const override {
    return std::make_unique<StripSink>(content_, start_, stop_, next);
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

}  // namespace

Result<std::unique_ptr<DecoderStage>> make_strip_decoder(const ConfigNode& node) {
  ConfigReader reader(node);
  reader.skip("type");
  SPINDRIFT_TRY(std::string content, reader.string("content"));
  SPINDRIFT_TRY(const int64_t start, reader.integer("start", 0, 1024));
  SPINDRIFT_TRY(const int64_t stop, reader.integer("stop", 0, 1024));
  SPINDRIFT_TRY_STATUS(reader.finish());
  if (content.empty() || code_point_at(content, 0).bytes != content.size()) {
    return Error{ErrorCode::kInvalid,
                 node.where + ".content: expected one character, found " + in_quotes(content)};
  }
  return std::unique_ptr<DecoderStage>(
      std::make_unique<StripDecoder>(std::move(content), start, stop));
}

}  // namespace spindrift
