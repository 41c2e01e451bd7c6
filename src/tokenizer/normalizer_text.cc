#include "tokenizer/byte_alphabet.h"
#include "tokenizer/char_class.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  Status apply(NormalizedText& text) const override {
    const CharClasses& classes = CharClasses::get();
    std::string& s = text.text;
    size_t end = s.size();
    while (right_ && end > 0) {
      const CodePoint c = code_point_before(s, end);
      if (!classes.is(c.value, kSpace)) break;
      end -= c.bytes;
    }
    s.resize(end);
    size_t begin = 0;
    while (left_ && begin < s.size()) {
      const CodePoint c = code_point_at(s, begin);
      if (!classes.is(c.value, kSpace)) break;
      begin += c.bytes;
    }
    if (begin > 0) text.at_origin = false;
    s.erase(0, begin);
    return ok_status();
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}

  Status apply(NormalizedText& text) const override {
    if (!text.text.empty()) text.text.insert(0, prefix_);
    return ok_status();
  }

 private:
  std::string prefix_;
};

class ByteLevelNormalizer : public Normalizer {
 public:
  Status apply(NormalizedText& text) const override {
    text.text = bytes_to_symbols(text.text);
    return ok_status();
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_strip_normalizer(bool left, bool right) {
  return std::make_unique<StripNormalizer>(left, right);
}
std::unique_ptr<Normalizer> make_prepend_normalizer(std::string prefix) {
  return std::make_unique<PrependNormalizer>(std::move(prefix));
}
std::unique_ptr<Normalizer> make_byte_level_normalizer() {
  return std::make_unique<ByteLevelNormalizer>();
}

}  // namespace spindrift
