#include "tokenizer/normalizer.h"
#include "tokenizer/pattern.h"
#include "tokenizer/utf8.h"

namespace spindrift {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 28;

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(std::unique_ptr<Pattern> pattern, std::string content, std::string where)
      : pattern_(std::move(pattern)), content_(std::move(content)), where_(std::move(where)) {}

  Status apply(NormalizedText& text) const override {
    const std::string& old = text.text;
    if (old.empty()) return ok_status();
    std::vector<Span> matches;
    SPINDRIFT_TRY_STATUS(pattern_->find_all(old, matches));
    if (matches.empty()) return ok_status();
    if (matches.size() * content_.size() > kMaxTextBytes) {
      return Error{ErrorCode::kLimit, where_ + ": the normalised text would exceed " +
                                          std::to_string(kMaxTextBytes) + " bytes"};
    }
    // New text stands where the last character of the match stood.
    const Span first = matches.front();
    const bool one_character =
        first.begin < first.end && code_point_at(old, first.begin).bytes == first.end;
    if (first.begin == 0 && !(one_character && !content_.empty())) text.at_origin = false;
    std::string out;
    out.reserve(old.size());
    size_t done = 0;
    for (const Span& match : matches) {
      out.append(old, done, match.begin - done);
      out += content_;
      done = match.end;
    }
    out.append(old, done);
    text.text = std::move(out);
    return ok_status();
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_, where_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> make_replace_normalizer(const ConfigNode& node) {
  ConfigReader reader(node);
  reader.skip("type");
  SPINDRIFT_TRY(const ConfigNode* pattern_node, reader.object("pattern"));
  SPINDRIFT_TRY(auto pattern, make_pattern(*pattern_node));
  SPINDRIFT_TRY(std::string content, reader.string("content"));
  SPINDRIFT_TRY_STATUS(reader.finish());
  return std::unique_ptr<Normalizer>(
      std::make_unique<ReplaceNormalizer>(std::move(pattern), std::move(content), node.where));
}

}  // namespace spindrift
